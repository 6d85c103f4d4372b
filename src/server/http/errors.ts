import type { Endpoint } from '../../api/endpoint.ts';
import { statusOf } from '../../api/refusals.ts';
import { AppError, invalidError, isAppError, isServerError } from '../../api/errors.ts';

/**
 * Returns the response to an error, for a route with these `statuses`. An error that is not an AppError or a refusal of
 * the framework is a bug, whose details only the log may contain, unless the stop of the server has caused it.
 */
export function errorReply(
  error: unknown,
  statuses: Endpoint['statuses'] = {},
): { status: number; body: object; isBug: boolean } {
  const refusal = error instanceof AppError ? error : (stopOf(error) ?? frameworkError(error));
  if (!isServerError(refusal)) {
    const message = 'internal error: see the server log for this request id';
    return { status: 500, body: { error: message, code: 'internal' }, isBug: true };
  }
  const { code, message } = refusal;
  // The body of 401 has no code (interface 2.2).
  const body = code === 'unauthorized' ? { error: message } : { error: message, code };
  return { status: statusOf(code, statuses), body, isBug: false };
}

function stopOf(error: unknown): AppError | null {
  const { cause } = error as { cause?: unknown };
  return isAppError(cause, 'shutting_down') ? cause : null;
}

/** Translates the framework's own refusals; returns null for any other error. */
function frameworkError(error: unknown): AppError | null {
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  switch (code) {
    case 'ECONNRESET':
      // The framework also uses this status for a client that disconnects while it sends its body, which is not a bug.
      return statusCode === 400 ? invalidError('the request body is incomplete') : null;
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError('payload_too_large', 'the request body is larger than this route allows');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new AppError(
        'unsupported_media_type',
        'the request body has to be JSON, with the header Content-Type: application/json',
      );
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalidError('the length of the request body differs from the header Content-Length');
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return invalidError('the request body is not valid JSON');
    case 'FST_ERR_BAD_URL':
      return invalidError('the path of the request has invalid URL encoding');
    default:
      return null;
  }
}
