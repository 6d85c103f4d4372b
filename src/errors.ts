/**
 * Every way a server refuses a request or fails at it, as the caller sees it.
 * `api/refusals.ts` and `cli/exit.ts` each translate the whole list; the compiler keeps both complete.
 */
export const serverErrorCodes = [
  'invalid',
  'provider_unavailable',
  'unsupported_provider_images',
  'unknown_model_preset',
  'unauthorized',
  'forbidden_host',
  'forbidden_origin',
  'forbidden_scope',
  'not_found',
  'method_not_allowed',
  'payload_too_large',
  'unsupported_media_type',
  'conflict',
  'turn_in_progress',
  'turn_conflict',
  'turn_not_active',
  'session_closed',
  'session_failed',
  'approval_resolved',
  'claim_conflict',
  'already_member',
  'team_deleted',
  'delivery_state',
  'idempotency_conflict',
  'provider_managed',
  'too_many',
  'internal',
  'storage_full',
  'storage_damaged',
  'shutting_down',
] as const;

/** These, and what the command line alone says. */
export const errorCodes = [...serverErrorCodes, 'usage', 'unreachable', 'timeout'] as const;

export type ErrorCode = (typeof errorCodes)[number];

/**
 * A failure whose message is meant for the caller: lower case, names the thing and the way out.
 * Anything else that is thrown is a bug, and reaches the caller as `internal`.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
