/**
 * The codes with which a server refuses a request or fails at it. `api/refusals.ts` says the HTTP status of each and
 * `gateway/envelope.ts` the code for tools; the compiler keeps both complete.
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

export type ServerErrorCode = (typeof serverErrorCodes)[number];

/** All codes: those of servers, and those of clients and the command line. `cli/exit.ts` has the exit code of each. */
export const errorCodes = [...serverErrorCodes, 'usage', 'unreachable', 'timeout'] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** Whether an error is a refusal that a server may give. Any other that reaches a server's caller is a bug. */
export function isServerError(error: unknown): error is AppError & { code: ServerErrorCode } {
  return (
    error instanceof AppError && (serverErrorCodes as readonly ErrorCode[]).includes(error.code)
  );
}

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
