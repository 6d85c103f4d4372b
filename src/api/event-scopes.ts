/** The comment with which an event stream ends if another server takes over. */
export const RESTARTING = 'the server is restarting';

/** The path of the events of each scope: of the whole runtime, or of one record. */
export const eventPaths = {
  runtime: '/v1/events',
  session: '/v1/sessions/{session_id}/events',
  process: '/v1/processes/{process_id}/events',
  team: '/v1/teams/{team_id}/events',
} as const;

export type EventScopeName = keyof typeof eventPaths;
