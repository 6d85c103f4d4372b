import type { ErrorBody } from '#generated/interface.ts';

/** The codes of a server's refusals and failures; `unreachable`: no cadre server answered. */
export type ErrorCode = ErrorBody['code'] | 'unreachable';

/** Why a request or a stream failed. A request that was aborted fails with the reason of its signal instead. */
export class CadreError extends Error {
  override readonly name: string = 'CadreError';
  readonly code: ErrorCode;
  /** The HTTP status of the answer; null where there was none. */
  readonly status: number | null;
  /** By which the log of the server names the request; null where there is none. */
  readonly requestId: string | null;

  constructor(
    code: ErrorCode,
    message: string,
    more: { status?: number; requestId?: string | null; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.status = more.status ?? null;
    this.requestId = more.requestId ?? null;
  }
}
