import type { Goal } from '../../../api/goals.ts';
import type { KindIn } from '../../../api/events.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { Database } from '../../../core/store/database.ts';
import { EmptyKeys } from '../../../core/store/empty-keys.ts';
import { RecordTable } from '../../../core/store/records.ts';
import type { Statement } from '../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import { isActive } from './goal.ts';

const ACTIVE = "status IN ('waiting', 'checking')";
/** Goals that neither a turn nor a check runs for. The end of a turn or a check looks at the time limit itself. */
const IDLE = `status = 'waiting' AND NOT EXISTS (
  SELECT 1 FROM sessions WHERE sessions.id = goals.id AND active_turn_id IS NOT NULL)`;

/** The rows of goals: the newest goal of each session. */
export class GoalStore {
  readonly #log: EventLog;
  readonly goals: RecordTable<Goal>;
  readonly #nextEnd: Statement<[number | null]>;
  readonly #overdue: Statement<[sessionId: string]>;
  readonly #without: EmptyKeys;

  constructor({ db, log }: { db: Database; log: EventLog }) {
    this.#log = log;
    this.goals = new RecordTable<Goal>(db, 'goals', ({ session_id }) => session_id);
    this.#nextEnd = db.prepare(
      `SELECT min(ends_by) FROM goals WHERE ${ACTIVE} AND (ends_by > ? OR ${IDLE})`,
    );
    this.#overdue = db.prepare(`SELECT id FROM goals WHERE ends_by <= ? AND ${IDLE} ORDER BY n`);
    this.#without = new EmptyKeys(db, 'goals', 'id', ACTIVE);
  }

  active(rx: Reader, sessionId: string): Goal | undefined {
    return this.#without.has(rx, sessionId) ? undefined : this.goals.get(rx, sessionId);
  }

  write(tx: Writer, goal: Goal, kind: KindIn<'goal'>): void {
    this.#without.delete(goal.session_id);
    this.goals.put(tx, goal);
    this.append(tx, goal, kind);
  }

  append(tx: Writer, goal: Goal, kind: KindIn<'goal'>): void {
    this.#log.append(tx, { kind, session_id: goal.session_id, payload: { goal } });
  }

  /** Stores a goal after a check, and a second event if the check has ended the goal. */
  writeChecked(tx: Writer, goal: Goal): void {
    this.write(tx, goal, 'goal.checked');
    if (!isActive(goal)) this.append(tx, goal, 'goal.ended');
  }

  checking(rx: Reader): Goal[] {
    return this.goals.where(rx, "status = 'checking'");
  }

  /** Returns the time at which the next goal reaches its time limit, in Unix ms; null if no goal has one. */
  nextEnd(rx: Reader, now: number): number | null {
    return this.#nextEnd.get(rx, now)?.[0] ?? null;
  }

  /** Returns the sessions whose goals have reached their time limit, and that neither a turn nor a check runs for. */
  overdue(rx: Reader, now: number): string[] {
    return this.#overdue.all(rx, now).map(([sessionId]) => sessionId);
  }

  forget(tx: Writer, sessionId: string): void {
    this.goals.delete(tx, sessionId);
  }
}
