import { isDeepStrictEqual } from 'node:util';
import type { BodyOf } from '../../../api/endpoint.ts';
import type { Goal } from '../../../api/goals.ts';
import type { createProcess, Process } from '../../../api/processes.ts';
import { AppError, conflictError } from '../../../api/errors.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';

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

/** A record with a command, of which a session has at most one. A check is due or runs while its status is `checking`. */
type Checked = Pick<Goal, 'session_id' | 'command' | 'check_timeout_ms' | 'process_id'> & {
  status: string;
};

/** The owner of the records: it stores what follows from a check. */
export interface CheckOwner<T extends Checked> {
  /** Returns the record of a session, unless it has ended. */
  active: (rx: Reader, sessionId: string) => T | undefined;
  checking: (rx: Reader) => T[];
  /** Stores the record of a check whose process was accepted. */
  checkStarted: (tx: Writer, checked: T) => void;
  /** Stores what follows from a check that has ended, if `isDue` holds for the record in that transaction. */
  checkEnded: (checked: T, process: Process, isDue: (tx: Writer) => boolean) => Promise<void>;
  /** Stores what follows from a check that cannot be started. */
  checkRefused: (tx: Writer, checked: T, why: string) => void;
}

interface CheckRunnerDeps<T extends Checked> extends Pick<
  ServerParts,
  'db' | 'clock' | 'logger' | 'failpoint'
> {
  owner: CheckOwner<T>;
  processes: CheckProcesses;
}

/** Runs checks, at most one for a record at a time. The next step always follows from the rows. */
export class CheckRunner<T extends Checked> {
  readonly #deps: CheckRunnerDeps<T>;
  readonly #running = new Set<string>();
  readonly #stopping = new AbortController();
  #isOpen = false;

  constructor(deps: CheckRunnerDeps<T>) {
    this.#deps = deps;
  }

  open(): void {
    this.#isOpen = true;
    const { db, owner } = this.#deps;
    for (const { session_id } of db.peek((rx) => owner.checking(rx))) this.start(session_id);
  }

  /** Leaves the checks for the next start of the server. */
  stop(): void {
    this.#isOpen = false;
    this.#stopping.abort();
  }

  /** Must be called once it is on disk that a check of a session is due. */
  start(sessionId: string): void {
    if (!this.#isOpen || this.#running.has(sessionId)) return;
    this.#run(sessionId).catch((error: unknown) => this.#logFailure(sessionId, error));
  }

  /** Ends the process of a check whose result no longer counts. */
  discard(tx: Writer, { status, process_id }: T): void {
    if (status === 'checking' && process_id !== null)
      this.#deps.processes.kill(tx, process_id, 'check_discarded');
  }

  async #run(sessionId: string): Promise<void> {
    this.#running.add(sessionId);
    try {
      for (let checked = this.#due(sessionId); checked; checked = this.#due(sessionId))
        await this.#advance(checked).catch((error: unknown) => this.#retryLater(sessionId, error));
    } finally {
      this.#running.delete(sessionId);
    }
  }

  async #retryLater(session_id: string, error: unknown): Promise<void> {
    const isRefusal = error instanceof AppError && error.code !== 'internal';
    if (!isRefusal) this.#logFailure(session_id, error);
    await this.#deps.clock.sleep(RETRY_MS, this.#stopping.signal).catch(() => undefined);
  }

  #logFailure(session_id: string, error: unknown): void {
    this.#deps.logger.error({ err: error, session_id }, 'cannot run a check');
  }

  /** Takes the next step of a check: starts its process, waits for the end of it, or stores its result. */
  async #advance(checked: T): Promise<void> {
    const { db, processes, owner, failpoint } = this.#deps;
    const { process_id: id } = checked;
    const process = id === null ? undefined : db.peek((rx) => processes.find(rx, id));
    if (!process || wasLost(process)) return this.#begin(checked);
    if (process.ended_at === null) return processes.done(process.process_id);
    failpoint('check.ended');
    await owner.checkEnded(checked, process, (tx) => this.#isDue(tx, checked));
  }

  #due(sessionId: string): T | undefined {
    if (!this.#isOpen) return undefined;
    const checked = this.#deps.db.peek((rx) => this.#deps.owner.active(rx, sessionId));
    return checked?.status === 'checking' ? checked : undefined;
  }

  async #begin(checked: T): Promise<void> {
    const { db, processes, owner, failpoint } = this.#deps;
    const { session_id, command, check_timeout_ms: timeout_ms } = checked;
    failpoint('check.starting');
    let isDue = true;
    try {
      await processes.run({ session_id, command, timeout_ms }, (tx, { process_id }) => {
        isDue = this.#isDue(tx, checked);
        if (!isDue) throw conflictError(`the check of session ${session_id} is no longer due`);
        owner.checkStarted(tx, { ...checked, process_id });
      });
    } catch (error) {
      if (!isDue) return;
      if (!(error instanceof AppError) || !refusals.has(error.code)) throw error;
      const { message } = error;
      await db.transact((tx) => {
        if (this.#isDue(tx, checked)) owner.checkRefused(tx, checked, message);
      });
    }
  }

  /** Whether a record is as it was read: another check may be due since, or none. */
  #isDue(rx: Reader, checked: T): boolean {
    return isDeepStrictEqual(this.#deps.owner.active(rx, checked.session_id), checked);
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

/** Whether a process ended because the server did, which says nothing about its command. */
function wasLost({ kill_reason, failure }: Process): boolean {
  return kill_reason === 'runtime_stopping' || failure?.code === 'runtime_restarted';
}
