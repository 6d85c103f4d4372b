import type { Hold } from '../../../api/queue.ts';
import type { Turn } from '../../../api/sessions.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { EmptyKeys } from '../../../core/store/empty-keys.ts';
import type { SqlValue } from '../../../core/store/raw-statement.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import type { Scheduler } from './scheduler.ts';

/** The code of the hold of a session that a person has interrupted. */
const STOPPED = 'stopped';
/** The code of the hold of a session that no agent could be started for. */
export const NO_AGENT = 'no_agent';

/** A part of the server that holds sessions for reasons of its own. Each method runs in the transaction of its caller. */
export interface HoldSource {
  /** Returns the holds of a session that follow from the rows of the source, and have no row in {@link Holds}. */
  holdsOf?(rx: Reader, sessionId: string): Hold[];
  /** Puts a hold on a session that could begin its next turn, if there is a reason. Returns whether it has. */
  holdNow?(tx: Writer, sessionId: string): boolean;
  /** Called when a hold of a session has ended that had events. */
  released?(tx: Writer, sessionId: string, code: string): void;
  /** Called when a turn has ended, before its session may begin the next one. */
  turnEnded?(tx: Writer, turn: Turn, context: TurnEndContext): void;
}

export interface TurnEndContext {
  /** Whether no agent has seen the turn, and its entries wait to become another one. */
  isRetried: boolean;
  isLast: boolean;
}

interface HoldsDeps extends Pick<ServerParts, 'db' | 'log' | 'clock'> {
  scheduler: Scheduler;
}

type HoldRow = [code: string, message: string, since: number | null, until: number | null];

/**
 * The reasons why a session starts no turn from its inbox, at most one for each code. A hold lasts until a user ends it or
 * its time has passed. Holds survive restarts. A running turn continues, and a client may send a turn nevertheless. The
 * holds of an interrupted turn and of the wait before another try to get an agent have no events of their own and no
 * `since`, because the events of their turns show them.
 */
export class Holds {
  readonly #deps: HoldsDeps;
  readonly #sources: HoldSource[] = [];
  readonly #of: Statement<HoldRow>;
  readonly #put: Statement;
  readonly #putPlain: Statement;
  readonly #failures: Statement<[number]>;
  readonly #end: Statement;
  readonly #endPlain: Statement;
  readonly #expireWait: Statement;
  readonly #endWait: Statement;
  readonly #endWaits: Statement;
  readonly #endAll: Statement;
  readonly #nextEnd: Statement<[until: number | null]>;
  readonly #past: Statement<[sessionId: string, code: string]>;
  readonly #count: Statement<[number]>;
  readonly #with: Statement<[sessionId: string]>;
  readonly #endAt: Statement;
  readonly #without: EmptyKeys;

  constructor(deps: HoldsDeps) {
    this.#deps = deps;
    const { db } = deps;
    this.#of = db.prepare(
      `SELECT code, message, since, until FROM holds WHERE session_id = ?
       AND (since IS NOT NULL OR until IS NULL OR until > ?) ORDER BY since IS NOT NULL, code`,
    );
    const insert = `INSERT INTO holds (session_id, code, message, since, until, failures) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (session_id, code) DO UPDATE SET message = excluded.message, until = excluded.until,
       failures = excluded.failures`;
    this.#put = db.prepare(`${insert}, since = coalesce(since, excluded.since)`);
    this.#putPlain = db.prepare(insert);
    this.#failures = db.prepare('SELECT failures FROM holds WHERE session_id = ? AND code = ?');
    this.#end = db.prepare('DELETE FROM holds WHERE session_id = ? AND code = ?');
    this.#endPlain = db.prepare('DELETE FROM holds WHERE session_id = ? AND since IS NULL');
    const waits = `code = '${NO_AGENT}' AND since IS NULL`;
    this.#endWait = db.prepare(`DELETE FROM holds WHERE session_id = ? AND ${waits}`);
    this.#endWaits = db.prepare(`DELETE FROM holds WHERE ${waits}`);
    this.#expireWait = db.prepare(`UPDATE holds SET until = 0 WHERE session_id = ? AND ${waits}`);
    this.#endAll = db.prepare('DELETE FROM holds WHERE session_id = ?');
    const timed = 'until IS NOT NULL AND since IS NOT NULL';
    this.#nextEnd = db.prepare(`SELECT min(until) FROM holds WHERE ${timed}`);
    this.#past = db.prepare(
      `SELECT session_id, code FROM holds WHERE ${timed} AND until <= ? LIMIT 100`,
    );
    this.#count = db.prepare(
      'SELECT count(DISTINCT session_id) FROM holds WHERE since IS NOT NULL',
    );
    this.#with = db.prepare('SELECT session_id FROM holds WHERE code = ? AND since IS NOT NULL');
    this.#endAt = db.prepare('UPDATE holds SET until = ? WHERE session_id = ? AND code = ?');
    this.#without = new EmptyKeys(db, 'holds', 'session_id');
  }

  register(source: HoldSource): void {
    this.#sources.push(source);
  }

  /** Returns why a session may not begin its next turn of the inbox. Past holds are among them until {@link endPast}. */
  of(rx: Reader, sessionId: string): Hold[] {
    const derived = this.#sources.flatMap((source) => source.holdsOf?.(rx, sessionId) ?? []);
    return [...this.#stored(rx, sessionId), ...derived];
  }

  holdNow(tx: Writer, sessionId: string): boolean {
    return this.#sources.some((source) => source.holdNow?.(tx, sessionId) === true);
  }

  /** Must be called when a turn has ended, before its session may begin the next one. */
  turnEnded(tx: Writer, turn: Turn, context: TurnEndContext): void {
    for (const source of this.#sources) source.turnEnded?.(tx, turn, context);
  }

  /** Returns the hold with a code of a session, if it has had events. */
  find(rx: Reader, sessionId: string, code: string): Hold | undefined {
    return this.#stored(rx, sessionId).find((one) => one.code === code && one.since !== null);
  }

  /** Holds a session, or gives its hold with this code another reason and end. `until`: Unix ms; null: without an end. */
  put(
    tx: Writer,
    sessionId: string,
    { code, message, until }: Pick<Hold, 'code' | 'message' | 'until'>,
    failures = 0,
  ): void {
    const { clock, scheduler } = this.#deps;
    this.#write(tx, this.#put, [sessionId, code, message, clock.now(), until, failures]);
    const hold = this.find(tx, sessionId, code);
    if (hold) this.#append(tx, sessionId, 'queue.session_held', hold);
    if (until !== null) tx.whenDurable(() => scheduler.wake(until));
  }

  /** Holds a session as {@link put} does, but without another event if the hold has this reason already. */
  putOnce(
    tx: Writer,
    sessionId: string,
    hold: Pick<Hold, 'code' | 'message' | 'until'>,
    failures: number,
  ): void {
    const { code, message } = hold;
    if (this.find(tx, sessionId, code)?.message !== message)
      this.put(tx, sessionId, hold, failures);
    else this.#write(tx, this.#put, [sessionId, code, message, null, null, failures]);
  }

  /** Ends the hold of a session with this code. Returns false if there is none. */
  end(tx: Writer, sessionId: string, code: string): boolean {
    const hold = this.find(tx, sessionId, code);
    if (!hold) return false;
    this.#end.run(tx, sessionId, code);
    this.#append(tx, sessionId, 'queue.session_released', hold);
    for (const source of this.#sources) source.released?.(tx, sessionId, code);
    return true;
  }

  /** Lets a hold end by itself at a time, in Unix ms: for many holds at once, which end in slices. */
  endAt(tx: Writer, sessionId: string, code: string, at: number): void {
    this.#endAt.run(tx, at, sessionId, code);
    tx.whenDurable(() => this.#deps.scheduler.wake(at));
  }

  /** Holds a session that a person has stopped, until somebody sends it a turn or an urgent message. */
  pause(tx: Writer, sessionId: string): void {
    const message = 'the last turn was interrupted';
    this.#write(tx, this.#putPlain, [sessionId, STOPPED, message, null, null, 0]);
  }

  /** Ends the pause of a session, and its wait for another try to get an agent. */
  endPause(tx: Writer, sessionId: string): void {
    if (!this.#without.has(tx, sessionId)) this.#endPlain.run(tx, sessionId);
  }

  /** Lets a session wait before its next turn tries again to get an agent. `failures`: turns in a row that got none. */
  wait(tx: Writer, sessionId: string, failures: number, until: number): void {
    const message = 'no agent was available for the last turn';
    this.#write(tx, this.#putPlain, [sessionId, NO_AGENT, message, null, until, failures]);
  }

  failures(rx: Reader, sessionId: string): number {
    return this.#failures.get(rx, sessionId, NO_AGENT)?.[0] ?? 0;
  }

  /** Ends the wait of a session for another try, whose failures still count. */
  expireWait(tx: Writer, sessionId: string): void {
    this.#expireWait.run(tx, sessionId);
  }

  /** Ends the wait of a session for another try to get an agent, because its turn has one. */
  endWait(tx: Writer, sessionId: string): void {
    if (!this.#without.has(tx, sessionId)) this.#endWait.run(tx, sessionId);
  }

  endWaits(tx: Writer): void {
    this.#endWaits.run(tx);
  }

  /** Whether a session is held because a person stopped it, or because it could get no agent. */
  isPaused(rx: Reader, sessionId: string): boolean {
    return this.#stored(rx, sessionId).some(({ code }) => code === STOPPED || code === NO_AGENT);
  }

  sessionsWith(rx: Reader, code: string): string[] {
    return this.#with.all(rx, code).map(([sessionId]) => sessionId);
  }

  forget(tx: Writer, sessionId: string): void {
    this.#endAll.run(tx, sessionId);
  }

  /** Returns when the next hold ends by itself, in Unix ms; null if none does. */
  nextEnd(rx: Reader): number | null {
    return this.#nextEnd.get(rx)?.[0] ?? null;
  }

  /** Ends up to 100 holds whose time has come. Returns their sessions. */
  endPast(tx: Writer): string[] {
    const past = this.#past.all(tx, this.#deps.clock.now());
    for (const [sessionId, code] of past) this.end(tx, sessionId, code);
    return past.map(([sessionId]) => sessionId);
  }

  /** Returns the number of sessions with holds that have events. */
  count(rx: Reader): number {
    return this.#count.get(rx)?.[0] ?? 0;
  }

  #write(tx: Writer, statement: Statement, row: [sessionId: string, ...SqlValue[]]): void {
    this.#without.delete(row[0]);
    statement.run(tx, ...row);
  }

  #stored(rx: Reader, sessionId: string): Hold[] {
    if (this.#without.has(rx, sessionId)) return [];
    return this.#of
      .all(rx, sessionId, this.#deps.clock.now())
      .map(([code, message, since, until]) => ({ code, message, since, until }));
  }

  #append(
    tx: Writer,
    session_id: string,
    kind: 'queue.session_held' | 'queue.session_released',
    hold: Hold,
  ): void {
    this.#deps.log.append(tx, { kind, session_id, payload: { hold } });
  }
}
