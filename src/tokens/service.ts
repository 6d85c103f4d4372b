import { createHash } from 'node:crypto';
import type { BodyOf, QueryOf } from '../api/endpoint.ts';
import type { CreatedToken, createToken, listTokens, Token, TokenScope } from '../api/tokens.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { type Ids, newSecret } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { Database } from '../store/database.ts';
import type { RecordPage } from '../store/records.ts';
import { type StoredToken, TokenStore } from './store.ts';

/** All of them are in memory, and none expires by itself. */
const MAX_TOKENS = 1000;
/** Tells people, and scanners for leaked secrets, what they have found. */
const SECRET_PREFIX = 'cadre_';

/** Tokens beside the API token. Of their secrets only digests are kept. */
export class TokenService {
  readonly #db: Database;
  readonly #store: TokenStore;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #logger: Logger;
  /** Those in force, by the digest of the secret: no request waits for the database to be let in. */
  readonly #inForce = new Map<string, TokenScope>();

  constructor({
    db,
    clock,
    ids,
    logger,
  }: {
    db: Database;
    clock: Clock;
    ids: Ids;
    logger: Logger;
  }) {
    this.#db = db;
    this.#store = new TokenStore(db);
    this.#clock = clock;
    this.#ids = ids;
    this.#logger = logger;
    for (const { secret_sha256, scope } of db.peek(() => this.#store.all())) {
      this.#inForce.set(secret_sha256, scope);
    }
  }

  /** What the bearer of a secret may do; null where it is nobody's. */
  scopeOf(secret: string): TokenScope | null {
    // How long a look-up takes may tell of the digest, and a digest leads to no secret.
    return this.#inForce.get(digestOf(secret)) ?? null;
  }

  /** Makes a token. Throws `conflict` where there are as many as there may be. */
  async create({ name, scope }: BodyOf<typeof createToken>): Promise<CreatedToken> {
    const secret = SECRET_PREFIX + newSecret();
    const secret_sha256 = digestOf(secret);
    const token = { id: this.#ids.next('tok'), name, scope, created_at: this.#clock.now() };
    await this.#db.transact(() => {
      if (this.#store.count() >= MAX_TOKENS) {
        throw new AppError(
          'conflict',
          `there are ${MAX_TOKENS} tokens, which is the most there may be: revoke some that are not needed`,
        );
      }
      this.#store.insert({ ...token, secret_sha256 });
    });
    this.#inForce.set(secret_sha256, scope);
    this.#logger.info({ token_id: token.id, name, scope }, 'a token was made');
    return { ...token, secret };
  }

  list({ limit, cursor }: QueryOf<typeof listTokens>): Promise<RecordPage<Token>> {
    return this.#db.read(() => {
      const { records, nextCursor } = this.#store.page(limit, cursor);
      return { records: records.map(withoutDigest), nextCursor };
    });
  }

  /** Revokes a token: from the answer on it opens nothing. Throws `not_found`. */
  async delete(id: string): Promise<Token> {
    const stored = await this.#db.transact(() => this.#store.delete(id));
    this.#inForce.delete(stored.secret_sha256);
    const { name, scope } = stored;
    this.#logger.info({ token_id: id, name, scope }, 'a token was revoked');
    return withoutDigest(stored);
  }
}

function withoutDigest({ secret_sha256: _digest, ...token }: StoredToken): Token {
  return token;
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
