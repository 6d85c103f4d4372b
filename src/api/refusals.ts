import type { ServerErrorCode } from './errors.ts';
import type { Endpoint } from './endpoint.ts';

/** Returns the HTTP status of an error code at an endpoint. */
export function statusOf(code: ServerErrorCode, statuses: Endpoint['statuses']): number {
  return statuses[code] ?? refusals[code].status;
}

/** The HTTP status of each error code, unless an endpoint overrides it, and the condition for the code. */
export const refusals: Record<ServerErrorCode, { status: number; when: string }> = {
  invalid: {
    status: 400,
    when: 'the request does not match the API description; the message names the field and the allowed values',
  },
  provider_unavailable: {
    status: 400,
    when: 'the provider is disabled, not configured or not installed; the message says what to do',
  },
  unsupported_provider_images: {
    status: 400,
    when: 'the input contains an image, and the provider of the session does not support images',
  },
  unknown_model_preset: {
    status: 400,
    when: 'teams.model_presets has no preset with the requested name; the message lists the names',
  },
  unauthorized: { status: 401, when: 'missing or invalid bearer token' },
  forbidden_host: { status: 403, when: 'the Host header is not a name of this server' },
  forbidden_origin: { status: 403, when: 'the Origin header is not in server.allowed_origins' },
  forbidden_scope: { status: 403, when: 'the scope of the token does not allow the request' },
  not_found: {
    status: 404,
    when: 'the record does not exist, or belongs to another session or team',
  },
  method_not_allowed: {
    status: 405,
    when: 'the path does not support this method; the Allow header lists the supported methods',
  },
  conflict: {
    status: 409,
    when: 'the request conflicts with the current state; the message describes the conflict',
  },
  turn_in_progress: { status: 409, when: 'the session has an active turn' },
  turn_conflict: {
    status: 409,
    when: 'expected_turn_id is not the most recent turn of the session',
  },
  turn_not_active: { status: 409, when: 'the turn has ended' },
  session_closed: { status: 409, when: 'the session is closed' },
  session_failed: { status: 409, when: 'the session has failed; resume the session first' },
  approval_resolved: { status: 409, when: 'the approval is already resolved' },
  claim_conflict: {
    status: 409,
    when: 'the session already has a claim on the worktree with another role',
  },
  already_member: { status: 409, when: 'the session is already a member of the team' },
  team_deleted: { status: 409, when: 'the team was deleted' },
  delivery_state: {
    status: 409,
    when: 'the status of the message delivery does not allow the request',
  },
  idempotency_conflict: {
    status: 409,
    when: 'the Idempotency-Key was used for another request within 24 h',
  },
  provider_managed: {
    status: 409,
    when: 'the login belongs to the user; the message names the command that changes it',
  },
  budget_reached: {
    status: 409,
    when: 'a budget of the session, of one of its teams, or of all sessions is used up; the message names the budget',
  },
  sandbox_unavailable: {
    status: 409,
    when: 'the configuration requires a sandbox that the machine does not allow; the message names the reason and a remedy',
  },
  payload_too_large: {
    status: 413,
    when: 'the request body is larger than the limit of the route',
  },
  unsupported_media_type: {
    status: 415,
    when: 'the request body does not have the content type application/json',
  },
  too_many: {
    status: 429,
    when: 'a configured limit is reached, for example for open streams or queued processes',
  },
  internal: {
    status: 500,
    when: 'an internal error of the server; the server log contains the details under the request id',
  },
  storage_full: {
    status: 500,
    when: 'the disk or the storage budget is full; the message says what to do',
  },
  storage_damaged: {
    status: 500,
    when: 'a stored record cannot be read; the message names the record and the next step',
  },
  shutting_down: { status: 503, when: 'the server is stopping' },
};

/**
 * The refusals of a request that cannot be read, by HTTP status. The server sends them on the bare socket, before it knows
 * the endpoint; their code is `invalid`, and they have no headers of their own.
 */
export const unreadRefusals: Record<number, { name: string; reason: string; when: string }> = {
  408: {
    name: 'LateRequest',
    reason: 'Request Timeout',
    when: 'the request did not arrive in time',
  },
  431: {
    name: 'HeadersTooLarge',
    reason: 'Request Header Fields Too Large',
    when: 'the URL and the headers are larger than 64 KiB together',
  },
};
