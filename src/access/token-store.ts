import type { Token } from '../api/tokens.ts';
import { AppError } from '../errors.ts';
import type { Database } from '../store/database.ts';
import { type RecordPage, RecordTable } from '../store/records.ts';
import type { Statement } from '../store/statement.ts';

/** A token as it is kept. */
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

  all(): StoredToken[] {
    return this.#tokens.where('true').map(whole);
  }

  page(limit: number, cursor?: string): RecordPage<StoredToken> {
    const { records, nextCursor } = this.#tokens.page({}, limit, cursor);
    return { records: records.map(whole), nextCursor };
  }

  count(): number {
    return this.#count.get()?.[0] ?? 0;
  }

  insert(token: StoredToken): void {
    this.#tokens.insert(token);
  }

  /** Deletes a token and answers what it was. Throws `not_found`. */
  delete(id: string): StoredToken {
    const token = this.#tokens.get(id);
    if (!token) throw new AppError('not_found', `no token "${id}"`);
    this.#delete.run(id);
    return whole(token);
  }
}

/** A record of a version whose tokens did not expire has no field for that. */
function whole(token: StoredToken): StoredToken {
  return { ...token, expires_at: token.expires_at ?? null };
}
