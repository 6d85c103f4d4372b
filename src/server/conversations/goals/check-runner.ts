import { isDeepStrictEqual } from 'node:util';
import type { BodyOf } from '../../../api/endpoint.ts';
import type { CheckResult, Goal } from '../../../api/goals.ts';
import type { createProcess, Process } from '../../../api/processes.ts';
import { AppError, conflictError } from '../../../api/errors.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { SessionStore } from '../sessions/store.ts';
import { afterCheck, endedGoal, isActive, isSameResult, resultOf } from './goal.ts';
import type { GoalStore } from './store.ts';

/** The owner of the entries of goals in the inbox. The reference of an entry is its session. */
export const OWNER = 'goal';
/** The rank of entries in the inbox: after a turn that a usage limit cut off, before the queue. */
const RANK = 0;
/** The wait before another try to start a check that the server has no room for, in ms. */
const RETRY_MS = 1000;

export interface CheckProcesses {
  /** Accepts a command. `andThen` runs in the transaction that stores the process. */
  run: (
    body: BodyOf<typeof createProcess>,
    andThen: (tx: Writer, process: Process) => void,
  ) => Promise<Process>;
  find: (rx: Reader, processId: string) => Process | undefined;
  /** Ends a process, once the transaction is on disk. */
  kill: (tx: Writer, processId: string, reason: string) => void;
  /** Resolves when a process has ended, and that is on disk. */
  done: (processId: string) => Promise<void>;
  readTails: (processId: string) => Promise<{ stdout: string; stderr: string }>;
}

interface CheckRunnerDeps extends Pick<ServerParts, 'db' | 'clock' | 'logger' | 'failpoint'> {
  store: GoalStore;
  sessionStore: SessionStore;
  inbox: Inbox;
  processes: CheckProcesses;
  /** Resolves with whether a turn has changed files; null if that is not known. */
  hasChangedFiles: (turn: { session_id: string; turn_id: string }) => Promise<boolean | null>;
}

/** Runs the checks of goals, at most one for a session at a time. The next step always follows from the rows. */
export class CheckRunner {
  readonly #deps: CheckRunnerDeps;
  readonly #running = new Set<string>();
  readonly #stopping = new AbortController();
  #isOpen = false;

  constructor(deps: CheckRunnerDeps) {
    this.#deps = deps;
  }

  open(): void {
    this.#isOpen = true;
    const { db, store } = this.#deps;
    for (const { session_id } of db.peek((rx) => store.checking(rx))) this.start(session_id);
  }

  /** Leaves the checks for the next start of the server. */
  stop(): void {
    this.#isOpen = false;
    this.#stopping.abort();
  }

  /** Must be called once it is on disk that a check of a session is due. */
  start(sessionId: string): void {
    if (this.#isOpen && !this.#running.has(sessionId)) void this.#run(sessionId);
  }

  /** Ends the process of a check whose result no longer counts. */
  discard(tx: Writer, { status, process_id }: Goal): void {
    if (status === 'checking' && process_id !== null)
      this.#deps.processes.kill(tx, process_id, 'check_discarded');
  }

  async #run(sessionId: string): Promise<void> {
    this.#running.add(sessionId);
    try {
      for (let goal = this.#due(sessionId); goal; goal = this.#due(sessionId))
        await this.#advance(goal).catch((error: unknown) => this.#retryLater(sessionId, error));
    } finally {
      this.#running.delete(sessionId);
    }
  }

  async #retryLater(session_id: string, error: unknown): Promise<void> {
    const { logger, clock } = this.#deps;
    const isRefusal = error instanceof AppError && error.code !== 'internal';
    if (!isRefusal) logger.error({ err: error, session_id }, 'cannot run a check');
    await clock.sleep(RETRY_MS, this.#stopping.signal).catch(() => undefined);
  }

  /** Takes the next step of a check: starts its process, waits for the end of it, or stores its result. */
  async #advance(goal: Goal): Promise<void> {
    const { db, processes } = this.#deps;
    const { process_id: id } = goal;
    const process = id === null ? undefined : db.peek((rx) => processes.find(rx, id));
    if (!process || wasLost(process)) return this.#begin(goal);
    if (process.ended_at !== null) return this.#store(goal, process);
    await processes.done(process.process_id);
  }

  #due(sessionId: string): Goal | undefined {
    if (!this.#isOpen) return undefined;
    const goal = this.#deps.db.peek((rx) => this.#deps.store.active(rx, sessionId));
    return goal?.status === 'checking' ? goal : undefined;
  }

  async #begin(goal: Goal): Promise<void> {
    const { processes, failpoint } = this.#deps;
    const { session_id, command, check_timeout_ms: timeout_ms } = goal;
    failpoint('check.starting');
    let isDue = true;
    try {
      await processes.run({ session_id, command, timeout_ms }, (tx, { process_id }) => {
        isDue = this.#isDue(tx, goal);
        if (!isDue) throw conflictError(`the check of goal ${goal.goal_id} is no longer due`);
        this.#deps.store.write(tx, { ...goal, process_id }, 'goal.checking');
      });
    } catch (error) {
      if (!isDue) return;
      if (!(error instanceof AppError) || !refusals.has(error.code)) throw error;
      await this.#refuse(goal, error.message);
    }
  }

  /** Whether a goal is as it was read: another check may be due since, or none. */
  #isDue(rx: Reader, goal: Goal): boolean {
    return isDeepStrictEqual(this.#deps.store.active(rx, goal.session_id), goal);
  }

  async #refuse(goal: Goal, why: string): Promise<void> {
    const { db, clock, inbox, store } = this.#deps;
    const last: CheckResult = { ...nothing, stderr: why };
    await db.transact((tx) => {
      if (!this.#isDue(tx, goal)) return;
      const checked = { ...goal, round: goal.round + 1, last };
      store.writeChecked(tx, endedGoal(checked, 'cannot_run', clock.now()));
      inbox.beginNextTurn(tx, goal.session_id);
    });
  }

  /** Stores the result of a check. A failed one becomes the next turn, unless the goal ends or a turn runs already. */
  async #store(goal: Goal, process: Process): Promise<void> {
    const { db, clock, inbox, store, processes, sessionStore, failpoint } = this.#deps;
    const { session_id } = goal;
    const last = resultOf(process, await processes.readTails(process.process_id));
    const isStuck = isSameResult(goal.last, last) && (await this.#hasLastTurnDoneNothing(goal));
    failpoint('check.ended');
    await db.transact((tx) => {
      if (!this.#isDue(tx, goal)) return;
      const checked = afterCheck(goal, process, last, { isStuck, now: clock.now() });
      store.writeChecked(tx, checked);
      const isBusy = sessionStore.activeTurn(tx, session_id) !== undefined;
      if (isActive(checked) && !isBusy)
        inbox.entries.put(tx, { session_id, owner: OWNER, ref: session_id, rank: RANK });
      inbox.beginNextTurn(tx, session_id);
    });
  }

  /** Whether only the turn of the failed check has run since, and is known to have changed no file. */
  async #hasLastTurnDoneNothing({ session_id }: Goal): Promise<boolean> {
    const { db, sessionStore, hasChangedFiles } = this.#deps;
    const [turn] = db.peek((rx) => sessionStore.newestTurns(rx, session_id, 1));
    return turn?.source === OWNER && (await hasChangedFiles(turn)) === false;
  }
}

/** The errors of commands that no later try would run. All others, such as `too_many`, are tried again. */
const refusals = new Set([
  'invalid',
  'not_found',
  'session_closed',
  'session_failed',
  'sandbox_unavailable',
]);

const nothing = {
  process_id: null,
  exit_code: null,
  signal: null,
  timed_out: false,
  stdout: '',
  stderr: '',
};

/** Whether a process ended because the server did, which says nothing about its command. */
function wasLost({ kill_reason, failure }: Process): boolean {
  return kill_reason === 'runtime_stopping' || failure?.code === 'runtime_restarted';
}
