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
