import type { Budget } from '../../../../api/budgets.ts';
import type { KindIn, Payload } from '../../../../api/events.ts';
import type { EventDraft } from '../../../../core/events/event.ts';
import type { EventLog } from '../../../../core/events/log.ts';
import type { Database } from '../../../../core/store/database.ts';
import { type IntactRows, RecordTable } from '../../../../core/store/records.ts';
import type { Statement } from '../../../../core/store/statement.ts';
import type { Reader, Writer } from '../../../../core/store/transaction.ts';

/** A session, a team, or, with two nulls, all sessions. */
export type BudgetOwner = Pick<Budget, 'session_id' | 'team_id'>;

const OF_OWNER = 'session_id IS ? AND team_id IS ?';

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

  /** Returns all budgets whose rows are intact. */
  all(rx: Reader): Budget[] {
    return this.isEmpty(rx) ? [] : this.budgets.whereIntact(rx, 'true').records;
  }

  /** Returns the budgets of a session, of teams, and of all sessions. */
  over(rx: Reader, sessionId: string, teamIds: readonly string[]): IntactRows<Budget> {
    if (this.isEmpty(rx)) return { records: [], damaged: [] };
    const found = [
      this.#of(rx, { session_id: sessionId, team_id: null }),
      ...teamIds.map((team_id) => this.#of(rx, { session_id: null, team_id })),
      this.#of(rx, { session_id: null, team_id: null }),
    ];
    return {
      records: found.flatMap(({ records }) => records),
      damaged: found.flatMap(({ damaged }) => damaged),
    };
  }

  /**
   * Returns the budgets of a session, of a team, or, with two nulls, of all sessions, whose rows are intact: one in all,
   * and one a day.
   */
  of(rx: Reader, owner: BudgetOwner): Budget[] {
    return this.isEmpty(rx) ? [] : this.#of(rx, owner).records;
  }

  #of(rx: Reader, { session_id, team_id }: BudgetOwner): IntactRows<Budget> {
    return this.budgets.whereIntact(rx, OF_OWNER, session_id, team_id);
  }

  /** Returns the budget of an owner for a period. Throws `storage_damaged` if a budget of the owner is damaged. */
  find(rx: Reader, { session_id, team_id, per }: BudgetOwner & Pick<Budget, 'per'>) {
    return this.budgets.where(rx, OF_OWNER, session_id, team_id).find((one) => one.per === per);
  }

  /** Returns the budget that an approval asks about; undefined if it is gone, or asks no more. */
  asking(rx: Reader, approvalId: string): Budget | undefined {
    return this.all(rx).find(({ approval_id }) => approval_id === approvalId);
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
