import type { Session } from '../../../../api/sessions.ts';
import type { Database } from '../../../../core/store/database.ts';
import type { Statement } from '../../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../../core/store/transaction.ts';

/** The sessions of an account: cadre has one login for each provider, and of acp one for each agent. */
export type Account = Pick<Session, 'provider' | 'agent'>;

/** The usage limit that an account has reached. Times are in Unix ms. */
export interface AccountLimit {
  message: string;
  since: number;
  /** null: not known. */
  until: number | null;
}

/** The code of the hold of a session that waits for a usage limit, and the owner of its entries in the inbox. */
export const CODE = 'usage_limit';
export const OWNER = 'usage_limit';

/** The rows of the usage limits of accounts, as they were reported last. */
export class LimitStore {
  readonly #any: Statement<[number]>;
  readonly #of: Statement<[message: string, since: number, until: number | null]>;
  readonly #put: Statement;
  readonly #drop: Statement;
  /** undefined: not known. Once true, it stays so until the server stops. */
  #isUsed: boolean | undefined;

  constructor(db: Database) {
    this.#any = db.prepare(
      `SELECT EXISTS (SELECT 1 FROM usage_limits) OR EXISTS (SELECT 1 FROM holds WHERE code = ?)
       OR EXISTS (SELECT 1 FROM inbox WHERE owner = ?)`,
    );
    const account = 'provider = ? AND agent = ?';
    this.#of = db.prepare(`SELECT message, since, until FROM usage_limits WHERE ${account}`);
    this.#put = db.prepare(
      'INSERT OR REPLACE INTO usage_limits (provider, agent, message, since, until) VALUES (?, ?, ?, ?, ?)',
    );
    this.#drop = db.prepare(`DELETE FROM usage_limits WHERE ${account}`);
  }

  /**
   * Whether any limit was reported, here or before the start and is not over yet. It is remembered, so that turns of
   * people who meet no limit read no row.
   */
  isUsed(rx: Reader): boolean {
    return (this.#isUsed ??= this.#any.get(rx, CODE, OWNER)?.[0] === 1);
  }

  /** Must be called when a limit is reported, before anything of it is stored. */
  use(): void {
    this.#isUsed = true;
  }

  of(rx: Reader, { provider, agent }: Account): AccountLimit | undefined {
    const row = this.#of.get(rx, provider, agent ?? '');
    return row && { message: row[0], since: row[1], until: row[2] };
  }

  put(tx: Writer, { provider, agent }: Account, { message, since, until }: AccountLimit): void {
    this.#put.run(tx, provider, agent ?? '', message, since, until);
  }

  drop(tx: Writer, { provider, agent }: Account): void {
    this.#drop.run(tx, provider, agent ?? '');
  }
}
