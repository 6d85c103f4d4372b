import type { ServerErrorCode } from './errors.ts';
import type { Endpoint } from './endpoint.ts';

/** The HTTP status of an error code at an endpoint. */
export function statusOf(code: ServerErrorCode, statuses: Endpoint['statuses']): number {
  return statuses[code] ?? refusals[code].status;
}

/** For each error code: its HTTP status, unless an endpoint overrides it, and the condition for it. */
export const refusals: Record<ServerErrorCode, { status: number; when: string }> = {
  invalid: {
    status: 400,
    when: 'the request is not as described; the message names the field and what it may be',
  },
  provider_unavailable: {
    status: 400,
    when: 'the provider is disabled, not configured or not installed; the message says what to do',
  },
  unsupported_provider_images: {
    status: 400,
    when: 'an image is addressed to a session whose provider accepts none',
  },
  unknown_model_preset: {
    status: 400,
    when: 'teams.model_presets has no such name; the message lists the names',
  },
  unauthorized: { status: 401, when: 'missing or invalid bearer token' },
  forbidden_host: { status: 403, when: 'the Host is not a name of this server' },
  forbidden_origin: { status: 403, when: 'the Origin is not among server.allowed_origins' },
  forbidden_scope: { status: 403, when: 'the scope of the token does not allow this' },
  not_found: { status: 404, when: 'there is no such record, or it belongs to another parent' },
  method_not_allowed: {
    status: 405,
    when: 'the path does not have this method; Allow lists those it has',
  },
  conflict: {
    status: 409,
    when: 'the request conflicts with the present state; the message says how',
  },
  turn_in_progress: { status: 409, when: 'the session has an active turn' },
  turn_conflict: { status: 409, when: "expected_turn_id is not the session's most recent turn" },
  turn_not_active: { status: 409, when: 'the turn has ended' },
  session_closed: { status: 409, when: 'the session is closed' },
  session_failed: { status: 409, when: 'the session has failed; resume it' },
  approval_resolved: { status: 409, when: 'the approval is already resolved' },
  claim_conflict: { status: 409, when: 'the session already claims the worktree in another role' },
  already_member: { status: 409, when: 'the session is already in the team' },
  team_deleted: { status: 409, when: 'the team was deleted' },
  delivery_state: { status: 409, when: 'the state of the delivery does not allow this' },
  idempotency_conflict: {
    status: 409,
    when: 'the Idempotency-Key was used for another request within 24 h',
  },
  provider_managed: {
    status: 409,
    when: "the login is the user's own; the message names the command that changes it",
  },
  budget_reached: {
    status: 409,
    when: 'a budget of the session, of a team of it, or of all sessions is used up; the message names it',
  },
  payload_too_large: { status: 413, when: 'the body is larger than this route accepts' },
  unsupported_media_type: { status: 415, when: 'the body is not application/json' },
  too_many: {
    status: 429,
    when: 'a configured limit is reached, for example of open streams or of queued processes',
  },
  internal: { status: 500, when: 'a bug; the server log has the details under the request id' },
  storage_full: {
    status: 500,
    when: 'the disk or the storage budget is full; the message says what to do',
  },
  storage_damaged: {
    status: 500,
    when: 'a stored record cannot be read; the message names it and says what to do',
  },
  shutting_down: { status: 503, when: 'the server is stopping' },
};
