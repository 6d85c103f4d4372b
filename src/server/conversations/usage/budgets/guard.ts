import type { Approval } from '../../../../api/approvals.ts';
import type { Budget } from '../../../../api/budgets.ts';
import type { Hold } from '../../../../api/queue.ts';
import type { Turn, Usage } from '../../../../api/sessions.ts';
import { AppError } from '../../../../api/errors.ts';
import type { ServerParts } from '../../../../core/events/server-parts.ts';
import { spentText } from '../../../../core/lib/amounts.ts';
import type { HoldSource } from '../../inbox/holds.ts';
import type { Inbox } from '../../inbox/inbox.ts';
import type { Scheduler } from '../../inbox/scheduler.ts';
import type { SessionStore } from '../../sessions/store.ts';
import { damagedError } from '../../../../core/store/storage-error.ts';
import type { Reader, Writer } from '../../../../core/store/transaction.ts';
import {
  amended,
  dayAt,
  isDayOver,
  isSound,
  notReached,
  onceMore,
  spentBy,
  usedUp,
  withTurn,
} from './budget.ts';
import type { BudgetApprovals } from './budget-approvals.ts';
import type { BudgetOwner, BudgetStore } from './store.ts';

interface BudgetGuardDeps extends Pick<ServerParts, 'db' | 'clock'> {
  store: BudgetStore;
  asking: BudgetApprovals;
  sessionStore: SessionStore;
  inbox: Inbox;
  scheduler: Scheduler;
  teams: {
    teamsOf: (rx: Reader, sessionId: string) => { id: string }[];
    agents: (rx: Reader, teamId: string) => string[];
  };
}

/**
 * Counts what turns use, each in the transaction that ends it, and holds the sessions of a budget that is used up. All its
 * state is in the rows, except the usage so far of running turns with hard budgets.
 */
export class BudgetGuard implements HoldSource {
  readonly #deps: BudgetGuardDeps;
  readonly #running = new Map<string, { session_id: string; usage: Usage }>();

  constructor(deps: BudgetGuardDeps) {
    this.#deps = deps;
    deps.inbox.holds.register(this);
    deps.scheduler.register({ due: (rx) => this.#nextEnd(rx), act: () => this.#beginDays() });
  }

  /** Counts a turn that has ended. Must be called once for each, before the session begins its next one. */
  turnEnded(tx: Writer, turn: Turn): void {
    const { store, sessionStore } = this.#deps;
    this.#running.delete(turn.turn_id);
    if (turn.started_at === null || store.isEmpty(tx)) return;
    const teams = sessionStore.usage.teamsAt(tx, turn);
    // Each is read anew: one that interrupts turns may have counted them meanwhile.
    for (const { id } of store.over(tx, turn.session_id, teams).records) {
      const budget = store.budget(tx, id);
      // A day that begins with this turn has it in its sums already.
      const isNew = isDayOver(budget, this.#deps.clock.now());
      const today = isNew ? this.#newDay(tx, budget) : budget;
      const counted = isNew ? today : { ...today, spent: withTurn(today.spent, turn.usage) };
      this.#judge(tx, counted, turn);
    }
  }

  /** Counts what an agent says of a turn after its end. */
  turnAmended(tx: Writer, turn: Turn, before: Usage | null): void {
    const { store, sessionStore, clock } = this.#deps;
    if (turn.started_at === null || store.isEmpty(tx)) return;
    const teams = sessionStore.usage.teamsAt(tx, turn);
    for (const { id } of store.over(tx, turn.session_id, teams).records) {
      const budget = store.budget(tx, id);
      const isOfDay = (turn.ended_at ?? 0) >= (budget.day_begins_at ?? 0);
      if (!isOfDay || isDayOver(budget, clock.now())) continue;
      const spent = amended(budget.spent, before, turn.usage);
      this.#judge(tx, { ...budget, spent }, turn);
    }
  }

  /** Takes what a running turn has used so far: a hard budget that is used up with it interrupts its turns. */
  turnUses(tx: Writer, turn: { session_id: string; turn_id: string }, usage: Usage): void {
    const { store, clock } = this.#deps;
    if (store.isEmpty(tx)) return;
    const { session_id, turn_id } = turn;
    const hard = store
      .over(tx, session_id, this.#teamsOf(tx, session_id))
      .records.filter((one) => one.hard && !isDayOver(one, clock.now()));
    if (hard.length === 0) return;
    this.#running.set(turn_id, { session_id, usage });
    for (const budget of hard) {
      if (budget.status !== 'open') continue;
      const spent = this.#withRunning(tx, budget);
      if (usedUp({ ...budget, spent }).length === 0) continue;
      // It asks when the first of its turns has ended, because an approval is about what comes after a turn.
      this.#reach(tx, budget, null);
    }
  }

  holdsOf(rx: Reader, sessionId: string): Hold[] {
    const { reached, damaged } = this.#holdsOver(rx, sessionId);
    return [...reached, ...damaged];
  }

  /** Returns the holds of the budgets over a session that are used up, and of those whose rows are damaged. */
  #holdsOver(rx: Reader, sessionId: string): { reached: Hold[]; damaged: Hold[] } {
    const { store, asking, clock } = this.#deps;
    if (store.isEmpty(rx)) return { reached: [], damaged: [] };
    const { records, damaged } = store.over(rx, sessionId, this.#teamsOf(rx, sessionId));
    const reached = records
      .filter((budget) => budget.status !== 'open' && !isDayOver(budget, clock.now()))
      .map((budget) => ({
        code: 'budget',
        message: `the budget of ${asking.labelOf(rx, budget)} is used up (${spentText(budget)})`,
        since: budget.reached_at,
        until: budget.day_ends_at,
      }));
    // The limit of a damaged budget is unknown, and may be used up: the safe side is to start no turn.
    return { reached, damaged: damaged.map(damagedHold) };
  }

  /** Throws `budget_reached` if a budget lets no turn of a session begin, and `storage_damaged` if it is damaged. */
  assertFree(rx: Reader, sessionId: string): void {
    const {
      reached: [usedUp],
      damaged: [unreadable],
    } = this.#holdsOver(rx, sessionId);
    if (usedUp)
      throw new AppError(
        'budget_reached',
        `${usedUp.message}: accept the approval of the budget, set a new limit, or queue the turn`,
      );
    if (unreadable) throw damagedError(unreadable.message);
  }

  answered(tx: Writer, approval: Approval): void {
    if (approval.kind !== 'budget') return;
    const { store, clock, inbox } = this.#deps;
    const found = store.asking(tx, approval.id);
    if (!found) return;
    const budget = isDayOver(found, clock.now()) ? this.#newDay(tx, found) : found;
    if (budget.status !== 'reached') return inbox.wake(tx);
    if (approval.status !== 'accepted') {
      const declined = this.#write(tx, { ...budget, status: 'declined' });
      return store.append(tx, declined, { kind: 'budget.declined', payload: { budget: declined } });
    }
    this.#release(tx, { ...budget, allowed: onceMore(budget) }, 'accepted');
    inbox.wake(tx);
  }

  /** Stores a new or changed budget of a user, with the usage of its turns so far. */
  put(tx: Writer, budget: Budget, before: Budget | undefined): Budget {
    const { store, asking, sessionStore, clock, inbox } = this.#deps;
    if (before) asking.cancel(tx, before, 'the budget was set again');
    const day = dayAt(budget.time_zone, clock.now());
    const since = day.day_begins_at ?? 0;
    const spent = spentBy(sessionStore.usage.sumOf(tx, budget, since));
    const put: Budget = { ...budget, ...day, spent, ...notReached };
    if (before) store.budgets.update(tx, put);
    else store.insert(tx, put);
    store.append(tx, put, { kind: 'budget.set', payload: { budget: put } });
    const judged = this.#judge(tx, put, null);
    if (before && before.status !== 'open' && judged.status === 'open') {
      store.append(tx, judged, {
        kind: 'budget.released',
        payload: { budget: judged, why: 'set' },
      });
      inbox.wake(tx);
    }
    return store.budget(tx, put.id);
  }

  drop(tx: Writer, budget: Budget, why: 'removed' | 'closed' | 'deleted'): void {
    const { store, asking, inbox } = this.#deps;
    const reason = {
      removed: 'the budget was removed',
      closed: 'the session was closed',
      deleted: 'the team was deleted',
    };
    asking.cancel(tx, budget, reason[why]);
    store.delete(tx, { ...budget, approval_id: null, approval_session_id: null }, why);
    if (budget.status !== 'open') inbox.wake(tx);
  }

  /** Must be called when a session is closed or a team is deleted: its budgets go with it. */
  dropAll(tx: Writer, owner: BudgetOwner, why: 'closed' | 'deleted'): void {
    for (const budget of this.#deps.store.of(tx, owner)) this.drop(tx, budget, why);
  }

  /** Must be called when a session has left a team, whose budgets hold it no more. */
  memberLeft(tx: Writer, team_id: string): void {
    const { store, inbox } = this.#deps;
    const budgets = store.of(tx, { session_id: null, team_id });
    if (budgets.some(({ status }) => status !== 'open')) inbox.wake(tx);
  }

  /** Returns when the next day of a used-up budget begins, in Unix ms; 0 for a budget with sums out of range. */
  #nextEnd(rx: Reader): number | null {
    const ends = this.#deps.store.all(rx).flatMap((one) => {
      if (!isSound(one)) return 0;
      return one.status === 'open' ? [] : (one.day_ends_at ?? []);
    });
    return ends.length === 0 ? null : Math.min(...ends);
  }

  /** Starts the next day of used-up budgets whose day has ended, and counts budgets with invalid sums again. */
  async #beginDays(): Promise<void> {
    const { db, store, clock, inbox } = this.#deps;
    const next = db.peek((rx) => this.#nextEnd(rx));
    if (next === null || next > clock.now()) return;
    await db.transact((tx) => {
      const over = store
        .all(tx)
        .filter((one) => !isSound(one) || (one.status !== 'open' && isDayOver(one, clock.now())));
      for (const budget of over) this.#judge(tx, this.#newDay(tx, budget), null);
      if (over.length > 0) inbox.wake(tx);
    });
  }

  #teamsOf(rx: Reader, sessionId: string): string[] {
    return this.#deps.teams.teamsOf(rx, sessionId).map(({ id }) => id);
  }

  /** Stores a budget after what it has spent changed. Returns it as it is stored. */
  #judge(tx: Writer, budget: Budget, turn: Turn | null): Budget {
    const { asking } = this.#deps;
    if (turn) asking.warnOf(tx, budget, turn);
    if (budget.status === 'open' && usedUp(budget).length > 0) return this.#reach(tx, budget, turn);
    const isUnasked = budget.status === 'reached' && budget.approval_id === null;
    if (!isUnasked || !turn) return this.#write(tx, budget);
    return this.#write(tx, { ...budget, ...asking.ask(tx, budget, turn) });
  }

  /** Holds the sessions of a budget, and asks whether to continue. `turn`: the turn that has just ended; null: none has. */
  #reach(tx: Writer, budget: Budget, turn: Turn | null): Budget {
    const { store, asking, clock, scheduler } = this.#deps;
    const reached: Budget = { ...budget, status: 'reached', reached_at: clock.now() };
    const last = turn ?? (usedUp(budget).length > 0 ? asking.lastTurn(tx, budget) : null);
    const asked = last ? asking.ask(tx, reached, last) : {};
    const stored = this.#write(tx, { ...reached, ...asked });
    store.append(tx, stored, { kind: 'budget.reached', payload: { budget: stored } });
    const end = stored.day_ends_at;
    if (end !== null) tx.whenDurable(() => scheduler.wake(end));
    if (stored.hard) this.#interruptAll(tx, stored);
    return stored;
  }

  #interruptAll(tx: Writer, budget: Budget): void {
    const { sessionStore, asking, inbox } = this.#deps;
    const used = spentText({ ...budget, spent: this.#withRunning(tx, budget) });
    const message = `the hard budget of ${asking.labelOf(tx, budget)} is used up (${used})`;
    for (const id of this.#sessionsOf(tx, budget)) {
      const turn = sessionStore.activeTurn(tx, id);
      if (turn?.interrupt_requested_at === null)
        inbox.interrupt(tx, turn, { code: 'budget_reached', message });
    }
  }

  #sessionsOf(rx: Reader, { session_id, team_id }: Budget): string[] {
    const { sessionStore, teams } = this.#deps;
    if (session_id !== null) return [session_id];
    if (team_id !== null) return teams.agents(rx, team_id);
    return sessionStore.sessionsWithActiveTurn(rx).map(({ id }) => id);
  }

  /** Returns the amounts of a budget with the usage so far of its running turns. */
  #withRunning(rx: Reader, budget: Budget): Budget['spent'] {
    const own = new Set(this.#sessionsOf(rx, budget));
    return [...this.#running.values()]
      .filter(({ session_id }) => own.has(session_id))
      .reduce(
        (spent, { usage }) => ({ ...withTurn(spent, usage), turns: spent.turns }),
        budget.spent,
      );
  }

  /** Returns a budget on its next day; one that was used up is so no more. */
  #newDay(tx: Writer, budget: Budget): Budget {
    const { sessionStore, asking, clock } = this.#deps;
    const day = dayAt(budget.time_zone, clock.now());
    const spent = spentBy(sessionStore.usage.sumOf(tx, budget, day.day_begins_at ?? 0));
    const today = { ...budget, ...day, spent, allowed: budget.limit };
    if (budget.status === 'open') return today;
    asking.cancel(tx, budget, 'a new day of the budget has started');
    return this.#release(tx, today, 'day');
  }

  #release(tx: Writer, budget: Budget, why: 'accepted' | 'day'): Budget {
    const released = this.#write(tx, { ...budget, ...notReached });
    const payload = { budget: released, why };
    this.#deps.store.append(tx, released, { kind: 'budget.released', payload });
    return released;
  }

  #write(tx: Writer, budget: Budget): Budget {
    const written = { ...budget, updated_at: this.#deps.clock.now() };
    this.#deps.store.budgets.update(tx, written);
    return written;
  }
}

function damagedHold(id: string): Hold {
  const message = `the budget "${id}" cannot be read: stop the server, and restore a copy of the data directory`;
  return { code: 'budget', message, since: null, until: null };
}
