import type { Hold } from '../../../api/queue.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import type { Database } from '../../../core/store/database.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';

interface HoldsDependencies {
  db: Database;
  log: EventLog;
  clock: Clock;
  /** Runs once a hold is on disk that ends at a time, in Unix ms. */
  onTime: (at: number) => void;
  /** Runs in the transaction in which a hold of a session ends; not where the session is closed. */
  onEnded?: (tx: Writer, sessionId: string, code: string) => void;
}

type HoldRow = [code: string, message: string, since: number, until: number | null];

/**
 * The reasons for which sessions begin no turn of their inbox: one for each code, until somebody ends it or its time has
 * come. They survive restarts. A turn that runs goes on, and a client may send a turn all the same.
 */
export class Holds {
  readonly #log: EventLog;
  readonly #clock: Clock;
  readonly #onTime: (at: number) => void;
  readonly #onEnded: NonNullable<HoldsDependencies['onEnded']>;
  readonly #of: Statement<HoldRow>;
  readonly #put: Statement;
  readonly #end: Statement;
  readonly #endAll: Statement;
  readonly #nextEnd: Statement<[until: number | null]>;
  readonly #past: Statement<[sessionId: string, code: string]>;
  readonly #count: Statement<[number]>;
  readonly #with: Statement<[sessionId: string]>;
  readonly #endAt: Statement;

  constructor({ db, log, clock, onTime, onEnded = () => undefined }: HoldsDependencies) {
    this.#log = log;
    this.#clock = clock;
    this.#onTime = onTime;
    this.#onEnded = onEnded;
    this.#of = db.prepare(
      'SELECT code, message, since, until FROM session_holds WHERE session_id = ? ORDER BY code',
    );
    this.#put = db.prepare(
      `INSERT INTO session_holds (session_id, code, message, since, until) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (session_id, code) DO UPDATE SET message = excluded.message, until = excluded.until`,
    );
    this.#end = db.prepare('DELETE FROM session_holds WHERE session_id = ? AND code = ?');
    this.#endAll = db.prepare('DELETE FROM session_holds WHERE session_id = ?');
    this.#nextEnd = db.prepare('SELECT min(until) FROM session_holds WHERE until IS NOT NULL');
    this.#past = db.prepare(
      'SELECT session_id, code FROM session_holds WHERE until IS NOT NULL AND until <= ? LIMIT 100',
    );
    this.#count = db.prepare('SELECT count(DISTINCT session_id) FROM session_holds');
    this.#with = db.prepare('SELECT session_id FROM session_holds WHERE code = ?');
    this.#endAt = db.prepare(
      'UPDATE session_holds SET until = ? WHERE session_id = ? AND code = ?',
    );
  }

  /** Returns the holds of a session. One whose time has come is among them until {@link endPast} has ended it. */
  of(rx: Reader, sessionId: string): Hold[] {
    return this.#of
      .all(rx, sessionId)
      .map(([code, message, since, until]) => ({ code, message, since, until }));
  }

  /** Holds a session, or gives its hold with this code another reason and end. `until`: Unix ms; null: without an end. */
  put(
    tx: Writer,
    sessionId: string,
    { code, message, until }: Pick<Hold, 'code' | 'message' | 'until'>,
  ): void {
    this.#put.run(tx, sessionId, code, message, this.#clock.now(), until);
    const hold = this.#find(tx, sessionId, code);
    if (hold) this.#append(tx, sessionId, 'queue.session_held', hold);
    if (until !== null) tx.whenDurable(() => this.#onTime(until));
  }

  /** Ends the hold of a session with this code. Returns false if there is none. */
  end(tx: Writer, sessionId: string, code: string): boolean {
    const hold = this.#find(tx, sessionId, code);
    if (!hold) return false;
    this.#end.run(tx, sessionId, code);
    this.#append(tx, sessionId, 'queue.session_released', hold);
    this.#onEnded(tx, sessionId, code);
    return true;
  }

  /** Lets a hold end by itself at a time, in Unix ms: for many holds at once, which end in slices. */
  endAt(tx: Writer, sessionId: string, code: string, at: number): void {
    this.#endAt.run(tx, at, sessionId, code);
    tx.whenDurable(() => this.#onTime(at));
  }

  /** Returns the sessions that have a hold with this code. */
  sessionsWith(rx: Reader, code: string): string[] {
    return this.#with.all(rx, code).map(([sessionId]) => sessionId);
  }

  /** Forgets the holds of a session that was closed. */
  forget(tx: Writer, sessionId: string): void {
    this.#endAll.run(tx, sessionId);
  }

  /** Returns when the next hold ends by itself, in Unix ms; null: none does. */
  nextEnd(rx: Reader): number | null {
    return this.#nextEnd.get(rx)?.[0] ?? null;
  }

  /** Ends up to 100 holds whose time has come. Returns their sessions. */
  endPast(tx: Writer): string[] {
    const past = this.#past.all(tx, this.#clock.now());
    for (const [sessionId, code] of past) this.end(tx, sessionId, code);
    return past.map(([sessionId]) => sessionId);
  }

  /** Returns the number of sessions that are held. */
  count(rx: Reader): number {
    return this.#count.get(rx)?.[0] ?? 0;
  }

  #find(rx: Reader, sessionId: string, code: string): Hold | undefined {
    return this.of(rx, sessionId).find((one) => one.code === code);
  }

  #append(
    tx: Writer,
    session_id: string,
    kind: 'queue.session_held' | 'queue.session_released',
    hold: Hold,
  ): void {
    this.#log.append(tx, { kind, session_id, payload: { hold } });
  }
}
