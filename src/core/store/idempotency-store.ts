import { createHash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Database } from './database.ts';
import type { Statement } from './statement.ts';
import type { Reader, Writer } from './transaction.ts';
import { AppError } from '../../api/errors.ts';

const IDEMPOTENCY_MS = 24 * 60 * 60 * 1000;

/** A request with an Idempotency-Key. Equal requests have equal fingerprints. */
export interface KeyedRequest {
  key: string;
  fingerprint: string;
  /** Returns the fingerprint that earlier builds stored for the same request: its answers are replayed after an upgrade. */
  earlier?: () => string;
}

/** Stores the answer of a keyed request in the transaction of its effect: the `andThen` of `transact`. */
export type SaveResponse = (tx: Writer, answer: unknown) => void;

/** The answer to the first request, which a repeated one receives. */
export interface StoredResponse {
  status: number;
  text: string;
}

/** Answers stored under an Idempotency-Key. Effect and answer are one transaction, so neither is stored alone. */
export class IdempotencyStore {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #get: Statement<
    [fingerprint: string, status: number, answer: string, createdAt: number]
  >;
  readonly #put: Statement;
  readonly #trim: Statement;
  readonly #underWay = new Map<string, Promise<void>>();

  constructor({ db, clock }: { db: Database; clock: Clock }) {
    this.#db = db;
    this.#clock = clock;
    this.#get = db.prepare(
      'SELECT fingerprint, status, answer, created_at FROM idempotency WHERE key = ?',
    );
    this.#put = db.prepare(
      'INSERT OR REPLACE INTO idempotency (key, fingerprint, status, answer, created_at) VALUES (?, ?, ?, ?, ?)',
    );
    this.#trim = db.prepare(
      'DELETE FROM idempotency WHERE key IN (SELECT key FROM idempotency WHERE created_at < ? LIMIT 100)',
    );
  }

  /**
   * Runs a request once. A repeated request gets the stored answer; a simultaneous one waits for it. `work` calls
   * `saveResponse` in the transaction of its effect. If it does not, its result is stored afterwards; a refusal is stored if
   * `refusalOf` returns an answer for it. A crash in between leaves `cutOff` as the stored answer; without `cutOff` the
   * request runs again. Throws `idempotency_conflict` if the key was used for another request.
   */
  async once<T>(
    request: KeyedRequest,
    status: number,
    work: (saveResponse: SaveResponse) => Promise<T>,
    refusalOf: (error: unknown) => StoredResponse | null,
    cutOff?: StoredResponse,
  ): Promise<{ kept: StoredResponse } | { value: T }> {
    while (this.#underWay.has(request.key)) await this.#underWay.get(request.key);
    const done = Promise.withResolvers<void>();
    this.#underWay.set(request.key, done.promise);
    try {
      const kept = await this.#db.read((rx) => this.#find(rx, request));
      if (kept) return { kept };
      if (cutOff) await this.#keep(request, cutOff);
      let isKept = false;
      const value = await this.#orStoreRefusal(request, refusalOf, () =>
        work((tx, answer) => {
          isKept = true;
          this.#store(tx, request, { status, text: JSON.stringify(answer) });
        }),
      );
      if (!isKept) await this.#keep(request, { status, text: JSON.stringify(value) });
      return { value };
    } finally {
      this.#underWay.delete(request.key);
      done.resolve();
    }
  }

  async #orStoreRefusal<T>(
    request: KeyedRequest,
    refusalOf: (error: unknown) => StoredResponse | null,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal) await this.#keep(request, refusal);
      throw error;
    }
  }

  async #keep(request: KeyedRequest, answer: StoredResponse): Promise<void> {
    await this.#db.transact((tx) => this.#store(tx, request, answer));
  }

  /** Removes up to 100 answers that are older than a day; returns whether there may be more. */
  trim(): Promise<boolean> {
    return this.#db.transact(
      (tx) => this.#trim.run(tx, this.#clock.now() - IDEMPOTENCY_MS) === 100,
    );
  }

  #find(rx: Reader, { key, fingerprint, earlier }: KeyedRequest): StoredResponse | null {
    const row = this.#get.get(rx, key);
    if (!row || row[3] < this.#clock.now() - IDEMPOTENCY_MS) return null;
    if (row[0] === fingerprint || row[0] === earlier?.()) return { status: row[1], text: row[2] };
    throw new AppError(
      'idempotency_conflict',
      'this Idempotency-Key was already used for another request in the last 24 h: use a new key for each request',
    );
  }

  #store(tx: Writer, { key, fingerprint }: KeyedRequest, { status, text }: StoredResponse): void {
    this.#put.run(tx, key, fingerprint, status, text, this.#clock.now());
  }
}

/** A digest of JSON values, for keys and fingerprints, independent of the order of the keys of objects. */
function digestOf(...parts: unknown[]): string {
  return createHash('sha256').update(canonicalJson(parts)).digest('base64url');
}

/** The digest of JSON values in earlier builds, which took the keys of objects in the order of the request. */
function earlierDigestOf(...parts: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** Returns the request with a key. `parts`: what makes requests with the same key equal. */
export function keyedBy(key: readonly string[], ...parts: unknown[]): KeyedRequest {
  return {
    key: digestOf(...key),
    fingerprint: digestOf(...parts),
    earlier: () => earlierDigestOf(...parts),
  };
}

/** JSON with the keys of each object sorted. The server limits how deep a body is nested, so recursion is safe. */
function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const entries = Object.entries(value).filter(([, part]) => part !== undefined);
  const sorted = entries.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${sorted.map(([key, part]) => `${JSON.stringify(key)}:${canonicalJson(part)}`).join(',')}}`;
}
