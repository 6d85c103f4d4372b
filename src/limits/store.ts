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

/** The rows of the usage limits of accounts, as they were reported last. */
export class LimitStore {
  readonly #of: Statement<[message: string, since: number, until: number | null]>;
  readonly #put: Statement;
  readonly #drop: Statement;

  constructor(db: Database) {
    const account = 'provider = ? AND agent = ?';
    this.#of = db.prepare(`SELECT message, since, until FROM usage_limits WHERE ${account}`);
    this.#put = db.prepare(
      'INSERT OR REPLACE INTO usage_limits (provider, agent, message, since, until) VALUES (?, ?, ?, ?, ?)',
    );
    this.#drop = db.prepare(`DELETE FROM usage_limits WHERE ${account}`);
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
