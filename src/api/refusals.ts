import type { ServerErrorCode } from '../errors.ts';
import type { Endpoint } from './endpoint.ts';

/** The HTTP status with which an endpoint gives a refusal. */
export function statusOf(code: ServerErrorCode, statuses: Endpoint['statuses']): number {
  return statuses[code] ?? refusals[code].status;
}

/** Each refusal: its HTTP status unless an endpoint has another for it, and when it is given. */
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
    when: 'images would go to a session of a provider to whose sessions none are sent',
  },
  unknown_model_preset: {
    status: 400,
    when: 'teams.model_presets has no such name; the message says which there are',
  },
  unauthorized: { status: 401, when: 'missing or invalid bearer token' },
  forbidden_host: { status: 403, when: 'the Host is none that this server answers for' },
  forbidden_origin: { status: 403, when: 'the Origin is not among server.allowed_origins' },
  forbidden_scope: { status: 403, when: 'the token may not do this' },
  not_found: { status: 404, when: 'there is no such thing, or not under this parent' },
  method_not_allowed: { status: 405, when: 'the path has other methods; they are in Allow' },
  conflict: { status: 409, when: 'it does not fit what is there' },
  turn_in_progress: { status: 409, when: 'the session has an active turn' },
  turn_conflict: { status: 409, when: "expected_turn_id is not the session's most recent turn" },
  turn_not_active: { status: 409, when: 'the turn has ended' },
  session_closed: { status: 409, when: 'the session is closed' },
  session_failed: { status: 409, when: 'the session has failed; resume it' },
  approval_resolved: { status: 409, when: 'the approval was resolved before' },
  claim_conflict: { status: 409, when: 'the session claims the worktree in another role' },
  already_member: { status: 409, when: 'the session is in the team' },
  team_deleted: { status: 409, when: 'the team was deleted' },
  delivery_state: { status: 409, when: 'the delivery is at a state from which this does not lead' },
  idempotency_conflict: { status: 409, when: 'the key was used for another request within 24 h' },
  provider_managed: {
    status: 409,
    when: "the login is the user's own; the message names the command that changes it",
  },
  payload_too_large: { status: 413, when: 'the body is larger than this route takes' },
  unsupported_media_type: { status: 415, when: 'the body is not application/json' },
  too_many: { status: 429, when: 'as many are open, or wait, as the configuration allows' },
  internal: { status: 500, when: 'a bug; the server log has the details under the request id' },
  storage_full: {
    status: 500,
    when: 'there is no room to store more; the message says what to do',
  },
  storage_damaged: {
    status: 500,
    when: 'what was stored cannot be read; the message names it and says what to do',
  },
  shutting_down: { status: 503, when: 'the server is stopping' },
};
