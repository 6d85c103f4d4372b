/** What came of one attempt. `code` and `signal` are those of a command that ended. */
export type Outcome =
  | { ok: true }
  | { ok: false; error: string; code?: number | null; signal?: string | null };

/** What is handed over in one attempt. */
export interface Delivery {
  /** JSON, without a line feed at its end. */
  body: string;
  event: { id: string; seq: number; kind: string };
  attempt: number;
  /** What of the body is told to nobody else, whatever the hook says of it; null: nothing is. */
  secret: string | null;
}
