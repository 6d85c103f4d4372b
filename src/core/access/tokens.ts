import { hash, timingSafeEqual } from 'node:crypto';
import type { BodyOf, QueryOf } from '../../api/endpoint.ts';
import {
  API_TOKEN_ID,
  type CreatedToken,
  type createToken,
  type listTokens,
  type Token,
  type TokenScope,
} from '../../api/tokens.ts';
import { conflictError, invalidError, notFoundError } from '../../api/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { type Ids, newSecret } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { Database } from '../store/database.ts';
import { type RecordPage, RecordTable } from '../store/records.ts';
import type { Writer, Reader } from '../store/transaction.ts';
import type { Statement } from '../store/statement.ts';

export type StoredToken = Token & { secret_sha256: string };

export class TokenStore {
  readonly #tokens: RecordTable<StoredToken>;
  readonly #count: Statement<[number]>;

  constructor(db: Database) {
    this.#tokens = new RecordTable(db, 'tokens', (token) => token.id);
    this.#count = db.prepare('SELECT count(*) FROM tokens');
  }

  all(rx: Reader): StoredToken[] {
    return this.#tokens.all(rx).map(whole);
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
    if (!token) throw notFoundError(`token "${id}" not found`);
    this.#tokens.delete(tx, id);
    return whole(token);
  }
}

/** Adds the field `expires_at`, which records of older versions lack. */
function whole(token: StoredToken): StoredToken {
  return { ...token, expires_at: token.expires_at ?? null };
}

/** The maximum number of tokens, because all of them are in memory. */
const MAX_TOKENS = 1000;
/** The prefix by which people, and scanners for leaked secrets, recognise a token. */
const SECRET_PREFIX = 'cadre_';
/** The maximum time between two checks for expired tokens: a timer does not notice changes of the wall clock. */
const LOOK_EVERY_MS = 60_000;
const NOTE_USE_EVERY_MS = 60_000;

interface InForce {
  id: string;
  scope: TokenScope;
  permissionMode: string | null;
  /** Wall time when its last use was stored. */
  usedAt: number | null;
  /** Wall time in Unix milliseconds; null: never. */
  expiresAt: number | null;
  end: AbortController;
}

export interface TokenHolder {
  /** Identifies the holder in the log and in `decided_by`; it reveals nothing of the secret. */
  id: string;
  scope: TokenScope;
  /** For the scope `tools`: permissions of the bearer without a session. */
  permissionMode: string | null;
  /** Aborts when the token is revoked, replaced or expired, which ends the streams opened with it. */
  ended: AbortSignal;
}

interface TokenServiceDependencies {
  db: Database;
  clock: Clock;
  ids: Ids;
  logger: Logger;
  apiToken: () => string;
  /** Runs in the transaction that revokes a token, to end what its bearer has started. */
  onRevoked: (tx: Writer, tokenId: string) => void;
}

/** The API token and the additional tokens. Only digests of the additional secrets are stored. */
export class TokenService implements Disposable {
  readonly #deps: TokenServiceDependencies;
  readonly #store: TokenStore;
  #api: { digest: Buffer; end: AbortController };
  /** The valid tokens by the digest of their secret, so that no request waits for the database to authenticate. */
  readonly #inForce = new Map<string, InForce>();
  #looking: Disposable | undefined;

  constructor(deps: TokenServiceDependencies) {
    this.#deps = deps;
    this.#store = new TokenStore(deps.db);
    this.#api = { digest: sha256(deps.apiToken()), end: new AbortController() };
    for (const token of this.#deps.db.peek((rx) => this.#store.all(rx))) this.#add(token);
    this.#endExpired();
  }

  /** Returns the holder of a secret; null if it is unknown or has expired. */
  holderOf(secret: string): TokenHolder | null {
    const digest = sha256(secret);
    // Digests have the same length, so the time of the comparison reveals nothing about the token.
    if (timingSafeEqual(digest, this.#api.digest))
      return {
        id: API_TOKEN_ID,
        scope: 'admin',
        permissionMode: null,
        ended: this.#api.end.signal,
      };
    // The time of the look-up may reveal a digest, but a secret cannot be derived from its digest.
    const found = this.#inForce.get(digest.toString('hex'));
    if (!found || this.#hasExpired(found)) return null;
    this.#noteUse(found);
    const { id, scope, permissionMode } = found;
    return { id, scope, permissionMode, ended: found.end.signal };
  }

  /** Stores when a token was used, at most once a minute; no request waits for that, or fails because of it. */
  #noteUse(token: InForce): void {
    const now = this.#deps.clock.now();
    if (token.usedAt !== null && now - token.usedAt < NOTE_USE_EVERY_MS) return;
    token.usedAt = now;
    this.#deps.db
      .transact((tx) => this.#store.noteUse(tx, token.id, now))
      .catch((error: unknown) =>
        this.#deps.logger.warn({ err: error }, 'cannot store the last use of a token'),
      );
  }

  /** Reads the API token of the new configuration. If it has changed, streams opened with the old one end. */
  apiTokenChanged(): void {
    const digest = sha256(this.#deps.apiToken());
    if (timingSafeEqual(digest, this.#api.digest)) return;
    const { end } = this.#api;
    this.#api = { digest, end: new AbortController() };
    end.abort();
  }

  /** Makes a token. Throws `conflict` if there are 1,000 tokens. */
  async create(body: BodyOf<typeof createToken>): Promise<CreatedToken> {
    const { name, scope, expires_in_ms, permission_mode = null } = body;
    if (permission_mode !== null && scope !== 'tools')
      throw invalidError(
        'body.permission_mode: only a token with the scope tools can have a permission mode',
      );
    const secret = SECRET_PREFIX + newSecret();
    const secret_sha256 = sha256(secret).toString('hex');
    const created_at = this.#deps.clock.now();
    const expires_at = expires_in_ms ? created_at + expires_in_ms : null;
    const token = {
      id: this.#deps.ids.next('tok'),
      name,
      scope,
      created_at,
      expires_at,
      permission_mode,
      last_used_at: null,
    };
    await this.#deps.db.transact((tx) => {
      this.#makeRoom(tx);
      this.#store.insert(tx, { ...token, secret_sha256 });
    });
    this.#add({ ...token, secret_sha256 });
    this.#endExpired();
    this.#deps.logger.info({ token_id: token.id, name, scope, expires_at }, 'a token was created');
    return { ...token, secret };
  }

  list({ limit, cursor }: QueryOf<typeof listTokens>): Promise<RecordPage<Token>> {
    return this.#deps.db.read((rx) => {
      const { records, nextCursor } = this.#store.page(rx, limit, cursor);
      return { records: records.map(withoutDigest), nextCursor };
    });
  }

  /**
   * Revokes a token: once this resolves, it authenticates no request, and its streams end, as do the processes that it
   * started as a caller of its own. Throws `not_found`.
   */
  async delete(id: string): Promise<Token> {
    const stored = await this.#deps.db.transact((tx) => {
      this.#deps.onRevoked(tx, id);
      return this.#store.delete(tx, id);
    });
    this.#end(stored.secret_sha256);
    const { name, scope } = stored;
    this.#deps.logger.info({ token_id: id, name, scope }, 'a token was revoked');
    return withoutDigest(stored);
  }

  [Symbol.dispose](): void {
    this.#looking?.[Symbol.dispose]();
  }

  /** Expired tokens stay in the list until the limit is reached; then they are deleted. */
  #makeRoom(tx: Writer): void {
    if (this.#store.count(tx) < MAX_TOKENS) return;
    const now = this.#deps.clock.now();
    const expired = this.#store.all(tx).filter(({ expires_at }) => (expires_at ?? now + 1) <= now);
    for (const { id } of expired) this.#store.delete(tx, id);
    if (expired.length > 0) return;
    throw conflictError(
      `cannot create a token, because the server already has the maximum of ${MAX_TOKENS} tokens: revoke a token first`,
    );
  }

  #add({ id, scope, expires_at: expiresAt, secret_sha256, ...more }: StoredToken): void {
    const { permission_mode: permissionMode, last_used_at: usedAt } = more;
    const end = new AbortController();
    this.#inForce.set(secret_sha256, { id, scope, expiresAt, permissionMode, usedAt, end });
  }

  #end(digest: string): void {
    this.#inForce.get(digest)?.end.abort();
    this.#inForce.delete(digest);
  }

  #hasExpired({ expiresAt }: InForce): boolean {
    return expiresAt !== null && expiresAt <= this.#deps.clock.now();
  }

  /** Ends expired tokens, and sets a timer for the next expiry. */
  #endExpired(): void {
    this.#looking?.[Symbol.dispose]();
    let next = Infinity;
    for (const [digest, token] of this.#inForce) {
      if (token.expiresAt === null) continue;
      if (!this.#hasExpired(token)) next = Math.min(next, token.expiresAt);
      else {
        this.#end(digest);
        this.#deps.logger.info({ token_id: token.id }, 'a token has expired');
      }
    }
    const wait = Math.min(next - this.#deps.clock.now(), LOOK_EVERY_MS);
    this.#looking =
      next < Infinity ? this.#deps.clock.after(wait, () => this.#endExpired()) : undefined;
  }
}

function withoutDigest({ secret_sha256: _digest, ...token }: StoredToken): Token {
  return token;
}

function sha256(secret: string): Buffer {
  // One call, which takes a third of the time of an object that is made, filled and read: each request comes by here.
  return hash('sha256', secret, 'buffer');
}
