import type { Session } from '../api/sessions.ts';
import type { Database } from '../store/database.ts';
import type { Statement } from '../store/statement.ts';
import type { Reader, Writer } from '../store/transaction.ts';

/** The sessions of an account: cadre has one login for each provider, and of acp one for each agent. */
export type Account = Pick<Session, 'provider' | 'agent'>;

/** The usage limit that an account has reached. Times are in Unix ms. */
export interface AccountLimit {
  message: string;
  since: number;
  /** null: not known. */
  until: number | null;
}

/**
 * The rows of the usage limits of accounts, as they were reported last. Whether there are any is remembered, so that turns
 * of people whose accounts have reached none read no row.
 */
export class LimitStore {
  /** undefined: not known. */
  #isEmpty: boolean | undefined;
  readonly #count: Statement<[number]>;
  readonly #of: Statement<[message: string, since: number, until: number | null]>;
  readonly #put: Statement;
  readonly #drop: Statement;

  constructor(db: Database) {
    this.#count = db.prepare('SELECT count(*) FROM usage_limits');
    const account = 'provider = ? AND agent = ?';
    this.#of = db.prepare(`SELECT message, since, until FROM usage_limits WHERE ${account}`);
    this.#put = db.prepare(
      'INSERT OR REPLACE INTO usage_limits (provider, agent, message, since, until) VALUES (?, ?, ?, ?, ?)',
    );
    this.#drop = db.prepare(`DELETE FROM usage_limits WHERE ${account}`);
  }

  isEmpty(rx: Reader): boolean {
    return (this.#isEmpty ??= this.#count.get(rx)?.[0] === 0);
  }

  of(rx: Reader, { provider, agent }: Account): AccountLimit | undefined {
    const row = this.#of.get(rx, provider, agent ?? '');
    return row && { message: row[0], since: row[1], until: row[2] };
  }

  put(tx: Writer, { provider, agent }: Account, { message, since, until }: AccountLimit): void {
    this.#put.run(tx, provider, agent ?? '', message, since, until);
    this.#forget(tx);
  }

  drop(tx: Writer, { provider, agent }: Account): void {
    this.#drop.run(tx, provider, agent ?? '');
    this.#forget(tx);
  }

  #forget(tx: Writer): void {
    this.#isEmpty = undefined;
    tx.whenLost(() => (this.#isEmpty = undefined));
  }
}
