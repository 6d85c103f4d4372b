import type { BodyOf } from '../../../api/endpoint.ts';
import { conflictError, notFoundError } from '../../../api/errors.ts';
import type { Goal, setGoal } from '../../../api/goals.ts';
import type { Process } from '../../../api/processes.ts';
import type { Hold } from '../../../api/queue.ts';
import type { Turn } from '../../../api/sessions.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { cutLine } from '../../../core/lib/cut-line.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import type { HoldSource, TurnEndContext } from '../inbox/holds.ts';
import type { Inbox, InboxSource } from '../inbox/inbox.ts';
import { actOnEach, type Scheduler } from '../inbox/scheduler.ts';
import { assertOpen } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import { type CheckOwner, type CheckProcesses, CheckRunner } from './check-runner.ts';
import {
  afterCheck,
  afterTurn,
  checkingGoal,
  endedGoal,
  isActive,
  isOverdue,
  isSameResult,
  newGoal,
  promptAfter,
  refusedCheck,
  resultOf,
} from './goal.ts';
import type { GoalStore } from './store.ts';

/** The owner of the entries of goals in the inbox. The reference of an entry is its session. */
const OWNER = 'goal';
/** The rank of entries in the inbox: after a turn that a usage limit cut off, before the queue. */
const RANK = 0;

/** The maximum length of a command in the message of a hold, in UTF-16 code units. */
const COMMAND_CHARACTERS = 200;

interface GoalServiceDeps extends Pick<
  ServerParts,
  'db' | 'clock' | 'ids' | 'logger' | 'failpoint'
> {
  store: GoalStore;
  processes: CheckProcesses;
  sessionStore: SessionStore;
  inbox: Inbox;
  scheduler: Scheduler;
  /** Resolves with whether a turn has changed files; null if that is not known. */
  hasChangedFiles: (turn: { session_id: string; turn_id: string }) => Promise<boolean | null>;
}

/**
 * The goals of sessions. When a turn of a session with a goal ends, the check is due in the same transaction and holds
 * the session, until its result and the next step are stored in one transaction.
 */
export class GoalService implements HoldSource, CheckOwner<Goal> {
  readonly checks: CheckRunner<Goal>;
  readonly #deps: GoalServiceDeps;

  constructor(deps: GoalServiceDeps) {
    this.#deps = deps;
    this.checks = new CheckRunner({ ...deps, owner: this });
    deps.inbox.register(OWNER, this.#inboxSource());
    deps.inbox.holds.register(this);
    deps.scheduler.register({
      due: (rx) => deps.store.nextEnd(rx, deps.clock.now()),
      act: (signal) => this.#endOverdue(signal),
    });
  }

  /** Sets the goal of a session. `by` is the id of the token of the request. Throws `conflict` if it has an active one. */
  set(
    sessionId: string,
    body: BodyOf<typeof setGoal>,
    by: string,
    saveResponse?: SaveResponse,
  ): Promise<Goal> {
    return this.#deps.db.transact((tx) => this.setNow(tx, sessionId, body, by), saveResponse);
  }

  setNow(tx: Writer, sessionId: string, body: BodyOf<typeof setGoal>, by: string): Goal {
    const { store, sessionStore, scheduler, clock, ids } = this.#deps;
    const session = sessionStore.session(tx, sessionId);
    assertOpen(session);
    const active = store.active(tx, sessionId);
    if (active)
      throw conflictError(
        `session ${sessionId} has the active goal "${cutLine(active.command, COMMAND_CHARACTERS)}": cancel the goal first`,
      );
    const request = { goal_id: ids.next('goal'), session_id: sessionId, created_by: by };
    const goal = newGoal(request, body, clock.now());
    store.write(tx, goal, 'goal.set');
    if (body.check_now === true && session.active_turn_id === null) this.#check(tx, goal);
    const { ends_by } = goal;
    if (ends_by !== null) tx.whenDurable(() => scheduler.wake(ends_by));
    return this.#goal(tx, sessionId);
  }

  /** Returns the goal of a session that was set last. Throws `not_found`. */
  get(sessionId: string): Promise<Goal> {
    return this.#deps.db.read((rx) => this.#goal(rx, sessionId));
  }

  /** Returns the goal of a session that was set last. */
  find(rx: Reader, sessionId: string): Goal | undefined {
    return this.#deps.store.goals.get(rx, sessionId);
  }

  /** Cancels the goal of a session. A goal that has ended is returned unchanged. */
  cancel(sessionId: string, saveResponse?: SaveResponse): Promise<Goal> {
    return this.#deps.db.transact((tx) => {
      this.#goal(tx, sessionId);
      this.cancelNow(tx, sessionId);
      return this.#goal(tx, sessionId);
    }, saveResponse);
  }

  /** Cancels the goal of a session, if it has an active one. */
  cancelNow(tx: Writer, sessionId: string): void {
    const goal = this.#deps.store.active(tx, sessionId);
    if (!goal) return;
    this.#end(tx, goal, 'cancelled');
    this.#deps.inbox.beginNextTurn(tx, sessionId);
  }

  turnEnded(tx: Writer, turn: Turn, context: TurnEndContext): void {
    const { store, inbox, clock } = this.#deps;
    const { session_id } = turn;
    const goal = store.active(tx, session_id);
    if (!goal) return;
    const isFollowed =
      !inbox.holds.isPaused(tx, session_id) && inbox.entries.hasNext(tx, session_id);
    const next = afterTurn(turn, { ...context, isFollowed });
    if (next !== 'check' && next !== 'wait') this.#end(tx, goal, next);
    else if (isOverdue(goal, clock.now())) this.#end(tx, goal, 'time');
    else if (next === 'check') this.#check(tx, goal);
  }

  holdsOf(rx: Reader, sessionId: string): Hold[] {
    const goal = this.#deps.store.active(rx, sessionId);
    if (goal?.status !== 'checking') return [];
    const { round, max_rounds, command, updated_at: since } = goal;
    const message = `check ${round + 1} of ${max_rounds} is running: ${cutLine(command, COMMAND_CHARACTERS)}`;
    return [{ code: 'goal', message, since, until: null }];
  }

  active(rx: Reader, sessionId: string): Goal | undefined {
    return this.#deps.store.active(rx, sessionId);
  }

  checking(rx: Reader): Goal[] {
    return this.#deps.store.checking(rx);
  }

  checkStarted(tx: Writer, goal: Goal): void {
    this.#deps.store.write(tx, goal, 'goal.checking');
  }

  /** Stores the result of a check. A failed one becomes the next turn, unless the goal ends or a turn runs already. */
  async checkEnded(goal: Goal, process: Process, isDue: (tx: Writer) => boolean): Promise<void> {
    const { db, clock, inbox, store, processes, sessionStore } = this.#deps;
    const { session_id } = goal;
    const last = resultOf(process, await processes.readTails(process.process_id));
    const isStuck = isSameResult(goal.last, last) && (await this.#hasLastTurnDoneNothing(goal));
    await db.transact((tx) => {
      if (!isDue(tx)) return;
      const checked = afterCheck(goal, process, last, { isStuck, now: clock.now() });
      store.writeChecked(tx, checked);
      const isBusy = sessionStore.activeTurn(tx, session_id) !== undefined;
      if (isActive(checked) && !isBusy)
        inbox.entries.put(tx, { session_id, owner: OWNER, ref: session_id, rank: RANK });
      inbox.beginNextTurn(tx, session_id);
    });
  }

  checkRefused(tx: Writer, goal: Goal, why: string): void {
    const { clock, inbox, store } = this.#deps;
    const checked = { ...goal, round: goal.round + 1, last: refusedCheck(why) };
    store.writeChecked(tx, endedGoal(checked, 'cannot_run', clock.now()));
    inbox.beginNextTurn(tx, goal.session_id);
  }

  /** Must be called when a session is closed, after the end of its turn. */
  sessionClosed(tx: Writer, sessionId: string): void {
    const goal = this.#deps.store.active(tx, sessionId);
    if (goal) this.#end(tx, goal, 'session_closed');
  }

  /** Removes the goal of a closed session whose contents retention deletes. */
  sessionTrimmed(tx: Writer, sessionId: string): void {
    this.#deps.store.forget(tx, sessionId);
  }

  /** Makes a check due. The check that runs, and the turn that is to follow an earlier one, are out of date. */
  #check(tx: Writer, goal: Goal): void {
    const { store, clock } = this.#deps;
    this.#discardRound(tx, goal);
    store.write(tx, checkingGoal(goal, clock.now()), 'goal.checking');
    tx.whenDurable(() => this.checks.start(goal.session_id));
  }

  #end(tx: Writer, goal: Goal, reason: Goal['reason']): void {
    this.#discardRound(tx, goal);
    this.#deps.store.write(tx, endedGoal(goal, reason, this.#deps.clock.now()), 'goal.ended');
  }

  #discardRound(tx: Writer, goal: Goal): void {
    this.#deps.inbox.entries.remove(tx, OWNER, goal.session_id);
    this.checks.discard(tx, goal);
  }

  /** Whether only the turn of the failed check has run since, and is known to have changed no file. */
  async #hasLastTurnDoneNothing({ session_id }: Goal): Promise<boolean> {
    const { db, sessionStore, hasChangedFiles } = this.#deps;
    const [turn] = db.peek((rx) => sessionStore.newestTurns(rx, session_id, 1));
    return turn?.source === OWNER && (await hasChangedFiles(turn)) === false;
  }

  async #endOverdue(signal: AbortSignal): Promise<void> {
    const { db, store, sessionStore, inbox, clock } = this.#deps;
    const ids = db.peek((rx) => store.overdue(rx, clock.now()));
    await actOnEach(this.#deps, ids, signal, (tx, sessionId) => {
      const goal = store.active(tx, sessionId);
      if (goal?.status !== 'waiting' || sessionStore.activeTurn(tx, sessionId)) return;
      this.#end(tx, goal, 'time');
      inbox.beginNextTurn(tx, sessionId);
    });
  }

  #goal(rx: Reader, sessionId: string): Goal {
    this.#deps.sessionStore.session(rx, sessionId);
    const goal = this.#deps.store.goals.get(rx, sessionId);
    if (goal) return goal;
    throw notFoundError(`session "${sessionId}" has no goal`);
  }

  #inboxSource(): InboxSource {
    const { store } = this.#deps;
    return {
      isAlone: true,
      content(rx, { ref }) {
        const goal = store.active(rx, ref);
        const text = goal ? promptAfter(goal) : '';
        return { source: 'goal', input: [{ type: 'text', text }] };
      },
      deferred: (tx, ref) => store.active(tx, ref)?.status === 'waiting',
      unreachable: (_tx, _ref, { status }) => status !== 'closed',
    };
  }
}
