/** The result of one attempt. A command that ended has a `code` or a `signal`. */
export type Outcome =
  | { ok: true }
  | { ok: false; error: string; code?: number | null; signal?: string | null };

/** The content of one attempt. */
export interface Delivery {
  /** JSON, without a line feed at its end. */
  body: string;
  event: { id: string; seq: number; kind: string };
  attempt: number;
  /** The part of the body that no error message may repeat. Null if error messages may repeat the whole body. */
  secret: string | null;
}

/** Returns the message of an error; an error of several addresses has none of its own. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map(messageOf).join('; ');
  return error instanceof Error
    ? error.message || String((error as NodeJS.ErrnoException).code)
    : String(error);
}
