import type { Budget } from '../../../../api/budgets.ts';
import type { KindIn, Payload } from '../../../../api/events.ts';
import type { EventDraft } from '../../../../core/events/event.ts';
import type { EventLog } from '../../../../core/events/log.ts';
import type { Database } from '../../../../core/store/database.ts';
import { RecordTable } from '../../../../core/store/records.ts';
import type { Statement } from '../../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../../core/store/transaction.ts';

/** A session, a team, or, with two nulls, all sessions. */
export type BudgetOwner = Pick<Budget, 'session_id' | 'team_id'>;

/** The rows of budgets. Whether there are any is remembered, so that turns of people without budgets read no row. */
export class BudgetStore {
  readonly budgets: RecordTable<Budget>;
  readonly #log: EventLog;
  readonly #count: Statement<[number]>;
  /** undefined: not known. */
  #isEmpty: boolean | undefined;

  constructor({ db, log }: { db: Database; log: EventLog }) {
    this.#log = log;
    this.budgets = new RecordTable(db, 'budgets', ({ id }) => id);
    this.#count = db.prepare('SELECT count(*) FROM budgets');
  }

  isEmpty(rx: Reader): boolean {
    return (this.#isEmpty ??= this.count(rx) === 0);
  }

  count(rx: Reader): number {
    return this.#count.get(rx)?.[0] ?? 0;
  }

  /** Returns a budget. Throws `not_found`. */
  budget(rx: Reader, id: string): Budget {
    return this.budgets.require(rx, id, 'budget');
  }

  all(rx: Reader): Budget[] {
    return this.isEmpty(rx) ? [] : this.budgets.all(rx);
  }

  /** Returns the budgets of a session, of teams, and of all sessions. */
  over(rx: Reader, sessionId: string, teamIds: readonly string[]): Budget[] {
    if (this.isEmpty(rx)) return [];
    return [
      ...this.of(rx, { session_id: sessionId, team_id: null }),
      ...teamIds.flatMap((team_id) => this.of(rx, { session_id: null, team_id })),
      ...this.of(rx, { session_id: null, team_id: null }),
    ];
  }

  /** Returns the budgets of a session, of a team, or, with two nulls, of all sessions: one in all, and one a day. */
  of(rx: Reader, { session_id, team_id }: BudgetOwner): Budget[] {
    if (this.isEmpty(rx)) return [];
    return this.budgets.where(rx, 'session_id IS ? AND team_id IS ?', session_id, team_id);
  }

  /** Returns the budget that an approval asks about; undefined if it is gone, or asks no more. */
  asking(rx: Reader, approvalId: string): Budget | undefined {
    return this.budgets.where(rx, 'approval_id = ?', approvalId)[0];
  }

  insert(tx: Writer, budget: Budget): void {
    this.budgets.insert(tx, budget);
    this.#forget(tx);
  }

  delete(tx: Writer, budget: Budget, why: Payload<'budget.removed'>['why']): void {
    this.budgets.delete(tx, budget.id);
    this.#forget(tx);
    this.append(tx, budget, { kind: 'budget.removed', payload: { budget, why } });
  }

  append(tx: Writer, { session_id, team_id }: Budget, body: EventDraft<KindIn<'budget'>>): void {
    this.#log.append(tx, { ...body, session_id, team_id });
  }

  #forget(tx: Writer): void {
    this.#isEmpty = undefined;
    tx.whenLost(() => (this.#isEmpty = undefined));
  }
}
