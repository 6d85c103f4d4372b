/**
 * The error codes of a server. `refusals.ts` maps each code to an HTTP status and `gateway/toolkit.ts` to a tool error
 * code; the compiler checks that both maps are complete.
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
  'budget_reached',
  'sandbox_unavailable',
  'too_many',
  'internal',
  'storage_full',
  'storage_damaged',
  'shutting_down',
] as const;

export type ServerErrorCode = (typeof serverErrorCodes)[number];

/** The error codes of servers, clients and the command line. `cli/exit.ts` maps each code to an exit code. */
export const errorCodes = [...serverErrorCodes, 'usage', 'unreachable', 'timeout'] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** Reports whether an error has a server error code. A server that throws any other error to its caller has a bug. */
export function isServerError(error: unknown): error is AppError & { code: ServerErrorCode } {
  return (
    error instanceof AppError && (serverErrorCodes as readonly ErrorCode[]).includes(error.code)
  );
}

/**
 * An error whose message is meant for the caller. The message is in lower case, names the wrong value and says what to
 * do instead. Every other error is a bug and reaches the caller as `internal`.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  /** Whether the same request may succeed later without a change of it: the refusal is not stored for its key. */
  readonly isTemporary: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    options: ErrorOptions & { isTemporary?: boolean } = {},
  ) {
    super(message, options);
    this.code = code;
    this.isTemporary = options.isTemporary ?? false;
  }
}

/** Reports whether an error is an `AppError` with this code. */
export function isAppError(error: unknown, code: ErrorCode): error is AppError {
  return error instanceof AppError && error.code === code;
}

/** Reports whether a server did not answer. */
export function isUnreachable(error: unknown): error is AppError {
  return isAppError(error, 'unreachable');
}

/** Returns an error as records contain it: only the server log has the details of a bug. */
export function recordedError(error: unknown): { code: string; message: string } {
  if (error instanceof AppError) return { code: error.code, message: error.message };
  return {
    code: 'internal',
    message: 'an internal error occurred: the server log has the details',
  };
}

type AppErrorOptions = ConstructorParameters<typeof AppError>[2];

export const invalidError = (message: string, options?: AppErrorOptions) =>
  new AppError('invalid', message, options);

export const notFoundError = (message: string, options?: AppErrorOptions) =>
  new AppError('not_found', message, options);

export const conflictError = (message: string, options?: AppErrorOptions) =>
  new AppError('conflict', message, options);

export const unreachableError = (message: string, options?: AppErrorOptions) =>
  new AppError('unreachable', message, options);

/** A command was called in a way that it does not support. */
export const usageError = (message: string, options?: AppErrorOptions) =>
  new AppError('usage', message, options);
