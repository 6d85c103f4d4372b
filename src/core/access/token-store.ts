import type { Token } from '../../api/tokens.ts';
import { AppError } from '../../api/errors.ts';
import type { Database } from '../store/database.ts';
import { type RecordPage, RecordTable } from '../store/records.ts';
import type { Statement } from '../store/statement.ts';
import type { Reader, Writer } from '../store/transaction.ts';

/** A token as it is stored. */
export type StoredToken = Token & { secret_sha256: string };

/** The rows of tokens. */
export class TokenStore {
  readonly #tokens: RecordTable<StoredToken>;
  readonly #count: Statement<[number]>;
  readonly #delete: Statement;

  constructor(db: Database) {
    this.#tokens = new RecordTable(db, 'tokens', (token) => token.id);
    this.#count = db.prepare('SELECT count(*) FROM tokens');
    this.#delete = db.prepare('DELETE FROM tokens WHERE id = ?');
  }

  all(rx: Reader): StoredToken[] {
    return this.#tokens.where(rx, 'true').map(whole);
  }

  page(rx: Reader, limit: number, cursor?: string): RecordPage<StoredToken> {
    const { records, nextCursor } = this.#tokens.page(rx, {}, limit, cursor);
    return { records: records.map(whole), nextCursor };
  }

  count(rx: Reader): number {
    return this.#count.get(rx)?.[0] ?? 0;
  }

  insert(tx: Writer, token: StoredToken): void {
    this.#tokens.insert(tx, token);
  }

  /** Notes when a token was last used, unless it was deleted meanwhile. */
  noteUse(tx: Writer, id: string, at: number): void {
    const token = this.#tokens.get(tx, id);
    if (token) this.#tokens.update(tx, { ...token, last_used_at: at });
  }

  /** Deletes and returns a token. Throws `not_found`. */
  delete(tx: Writer, id: string): StoredToken {
    const token = this.#tokens.get(tx, id);
    if (!token) throw new AppError('not_found', `token "${id}" not found`);
    this.#delete.run(tx, id);
    return whole(token);
  }
}

/** Adds the field `expires_at`, which records of older versions lack. */
function whole(token: StoredToken): StoredToken {
  return { ...token, expires_at: token.expires_at ?? null };
}
