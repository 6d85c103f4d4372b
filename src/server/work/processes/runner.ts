import type { Process } from '../../../api/processes.ts';
import { killCarriers } from '../../../core/children/identity.ts';
import type { Child, ChildCommand, ChildExit } from '../../../core/children/supervisor.ts';
import { AppError, conflictError } from '../../../api/errors.ts';
import { persist } from '../../../core/store/persist.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import { splitWords, startFailure } from './command.ts';
import { processEnvironment } from '../../../core/children/environment.ts';
import {
  descriptionOf,
  type SurvivingProcess,
  readSurvivingOutputs,
} from './surviving-processes.ts';
import type { StreamName } from './output.ts';
import {
  type Cause,
  endProcess,
  hasEnded,
  notEnded,
  ownerOf,
  type ProcessEnd,
  startProcess,
} from './process.ts';
import { logPath } from './log-file.ts';
import type { ProcessDependencies } from './dependencies.ts';
import { printedOf, type ProcessStart, type Running, runningOf } from './running.ts';

type Dependencies = Omit<ProcessDependencies, 'sessionStore' | 'sandbox' | 'ids' | 'assertRoom'>;

/** A process that may be accepted, and is ended if it is not. */
export interface Prepared extends Disposable {
  readonly running: Running;
}

/**
 * Runs at most `max_concurrent` processes at once, and queues the others in FIFO order. A process has ended when its
 * leader has exited and its process group is empty, even if another process still holds its pipes.
 */
export class ProcessRunner {
  readonly #deps: Dependencies;
  readonly #queue: Running[] = [];
  readonly #all = new Map<string, Running>();
  readonly #stopping = new AbortController();
  readonly ended: Record<string, number> = {};
  /** The reservations in the queue of requests under way. */
  readonly #reserved = new Set<{ owner: string | null }>();
  readonly #running = new Set<Running>();

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  get counts(): { queued: number; running: number } {
    return { queued: this.#queue.length, running: this.#running.size };
  }

  /**
   * Reserves room in the queue for a process of a session (null: of none), until it is disposed. Throws `too_many` if the
   * queue is full, or if the session has reached its limit.
   */
  reserve(owner: string | null): Disposable {
    const { max_concurrent, max_queued } = this.#deps.settings();
    if (
      this.#queue.length + this.#reserved.size + this.#running.size >=
      max_concurrent + max_queued
    ) {
      throw new AppError(
        'too_many',
        `${max_queued} processes are already queued: try again later, or raise processes.max_queued`,
      );
    }
    if (owner !== null) this.#assertWithinQuota(owner);
    const reservation = { owner };
    this.#reserved.add(reservation);
    return { [Symbol.dispose]: () => void this.#reserved.delete(reservation) };
  }

  #assertWithinQuota(owner: string): void {
    const { max_per_session, max_queued_per_session } = this.#deps.settings();
    const waiting = this.#queue.filter(({ process }) => ownerOf(process) === owner).length;
    const reserved = [...this.#reserved].filter((one) => one.owner === owner).length;
    if (waiting + reserved + this.#runningOf(owner) < max_per_session + max_queued_per_session)
      return;
    throw new AppError(
      'too_many',
      `session ${owner} already has ${max_per_session + max_queued_per_session} running or queued ` +
        'processes: stop some processes, wait for some to end, or raise processes.max_queued_per_session or ' +
        'processes.max_per_session',
    );
  }

  #runningOf(owner: string): number {
    return [...this.#running].filter(({ process }) => ownerOf(process) === owner).length;
  }

  /**
   * Prepares a process for `accept`. If there is room for it, it takes that room and waits at its spawn barrier, so
   * that its start is stored together with its acceptance. If it is not accepted, `Symbol.dispose` ends it.
   */
  prepare(process: Process, reserved: Disposable, start: ProcessStart): Prepared {
    const running = runningOf(process, this.#deps, start);
    // The shim starts a process in its own time.
    const canWait = start.after === undefined && !process.outlive;
    if (canWait && this.#hasRoomFor(process)) {
      running.waiting = this.#deps.supervisor.wait(this.#commandOf(running));
      if (running.waiting) {
        reserved[Symbol.dispose]();
        this.#running.add(running);
      }
    }
    return {
      running,
      [Symbol.dispose]: () => {
        if (running.isAccepted || !running.waiting) return;
        running.waiting.discard();
        this.#running.delete(running);
        this.admit();
      },
    };
  }

  /** Whether a process may start now. Queued processes wait for something else, or there would be no room. */
  #hasRoomFor(process: Process): boolean {
    const { max_concurrent, max_per_session } = this.#deps.settings();
    const owner = ownerOf(process);
    if (this.#stopping.signal.aborted || this.#running.size >= max_concurrent) return false;
    return owner === null || this.#runningOf(owner) < max_per_session;
  }

  /**
   * Stores a process as queued, and as started if it waits at its spawn barrier. Once that is on disk, it runs: at once, or as
   * soon as there is room for it.
   */
  accept(tx: Writer, { running }: Prepared): void {
    const { store, clock } = this.#deps;
    const { process, waiting, after } = running;
    store.create(tx, process);
    if (waiting) {
      store.move(tx, startProcess(process, waiting.pid, clock.now()), 'process.started');
      waiting.register(tx);
    }
    tx.whenDurable(() => {
      // Startup recovery fails the process, which never ran.
      if (this.#stopping.signal.aborted) return;
      running.isAccepted = true;
      this.#all.set(process.process_id, running);
      if (waiting) return this.#occupy(running);
      this.#queue.push(running);
      if (after === undefined) return this.admit();
      void this.done(after).then(() => {
        running.isHeld = false;
        this.admit();
      });
    });
  }

  /**
   * Sends input to a process. Resolves once it was passed on or is held. Throws `conflict` for a process that has ended
   * or reads no input, `too_many` if too much waits.
   */
  async write(processId: string, data: Buffer, eof: boolean): Promise<void> {
    const running = this.#all.get(processId);
    if (!running) throw conflictError(`process ${processId} has already ended`);
    if (running.input) return running.input.write(data, eof);
    throw conflictError(`process ${processId} has no input: start the process with stdin "pipe"`);
  }

  /** Returns the process with the current size of its output, which its row holds only once it has ended. */
  withTotals(process: Process): Process {
    const running = this.#all.get(process.process_id);
    return running && !hasEnded(process) ? { ...process, ...running.output.totals } : process;
  }

  /** Returns a process that has not ended. */
  find(processId: string): Running | undefined {
    return this.#all.get(processId);
  }

  /** Resolves when a process has ended; at once if it is not of this run of the server. */
  done(processId: string): Promise<void> {
    return this.#all.get(processId)?.done.promise ?? Promise.resolve();
  }

  /** Calls `listener` with every chunk that a process prints, until disposed. */
  listen(processId: string, listener: (stream: StreamName, chunk: Buffer) => void): Disposable {
    const listeners = this.#all.get(processId)?.listeners;
    listeners?.add(listener);
    return { [Symbol.dispose]: () => void listeners?.delete(listener) };
  }

  /** Ends a process with all its descendants. Must be called once the request to kill it is on disk. */
  kill(processId: string, cause: Cause): void {
    const running = this.#all.get(processId);
    if (!running) return;
    running.cause ??= cause;
    const at = this.#queue.indexOf(running);
    if (at >= 0) {
      this.#queue.splice(at, 1);
      void this.#finish(running, { exit: null, failure: null, cause, output: null });
    } else if (running.child) this.#end(running, running.child);
  }

  /** Continues with processes that another server has left. */
  async attach(processes: readonly SurvivingProcess[]): Promise<void> {
    for (const { process, oldest } of processes) {
      const start = { sandbox: null, after: undefined };
      try {
        const left = await readSurvivingOutputs(process, this.#deps);
        await this.#attach(runningOf(process, this.#deps, { ...start, left }), oldest);
      } catch (error) {
        await this.#fail(runningOf(process, this.#deps, start), (error as Error).message);
      }
    }
  }

  async #attach(running: Running, oldest: SurvivingProcess['oldest']): Promise<void> {
    const { process, output } = running;
    const { process_id, pid, kill_requested_at, kill_reason: reason } = process;
    const { stdout, stderr } = output.beginsAt(oldest);
    const child = this.#deps.supervisor.attach(pid ?? 0, stdout, stderr);
    if (!child) return this.#fail(running, 'a part of its output is not there');
    running.child = child;
    this.#all.set(process_id, running);
    this.#occupy(running);
    if (kill_requested_at) this.kill(process_id, { status: 'killed', reason });
  }

  /** Fails a process that cannot be taken over. The start ends it. */
  async #fail(running: Running, why: string): Promise<void> {
    const { process_id } = running.process;
    this.#deps.logger.warn({ process_id, why }, 'cannot take a process over');
    const message = `the server could not take the process over, and has ended it: ${why}`;
    const failure = { code: 'runtime_restarted', message };
    const { output } = await printedOf(this.#deps, process_id);
    await this.#finish(running, { exit: null, failure, cause: null, output });
  }

  /** Leaves the processes that outlive the server to the next one. Resolves with their process ids. */
  async leave(): Promise<Set<number>> {
    const left = [...this.#running].filter(
      ({ child, isOver, cause, ending }) => child?.outlives && !isOver && !cause && !ending,
    );
    for (const running of left) {
      running.isLeft = true;
      running.limit?.[Symbol.dispose]();
      this.#all.delete(running.process.process_id);
    }
    await Promise.all(left.map(({ output }) => output.leave()));
    return new Set(left.map(({ child }) => child?.pid ?? 0));
  }

  /** Ends every process as killed, with `runtime_stopping`. Resolves when all have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const all = [...this.#all.values()];
    for (const { process } of all)
      this.kill(process.process_id, { status: 'killed', reason: 'runtime_stopping' });
    await Promise.all(all.map(({ done }) => done.promise));
  }

  logPath(processId: string, stream: StreamName): string {
    return logPath(this.#deps.directory, processId, stream);
  }

  /** Starts queued processes while there is room. Must be called when a process has ended or a limit was raised. */
  admit(): void {
    const { max_concurrent, max_per_session } = this.#deps.settings();
    const counts = new Map<string, number>();
    const countOf = ({ process }: Running) => counts.get(ownerOf(process) ?? '') ?? 0;
    const add = (one: Running) => counts.set(ownerOf(one.process) ?? '', countOf(one) + 1);
    for (const one of this.#running) add(one);
    for (let at = 0; at < this.#queue.length && this.#running.size < max_concurrent;) {
      const next = this.#queue[at] as Running;
      const isFull = ownerOf(next.process) !== null && countOf(next) >= max_per_session;
      // A process that waits for the process that it replaces, or for others of its owner, does not delay the next ones.
      if (next.isHeld || isFull) at++;
      else {
        this.#queue.splice(at, 1);
        add(next);
        this.#occupy(next);
      }
    }
  }

  /** Runs a process, which takes up room until it has ended. */
  #occupy(running: Running): void {
    this.#running.add(running);
    void this.#run(running).finally(() => {
      this.#running.delete(running);
      this.admit();
    });
  }

  async #run(running: Running): Promise<void> {
    const { process, output } = running;
    let exit: ChildExit | null = null;
    let failure: Process['failure'] = null;
    let cause: Cause | null = null;
    try {
      const child = running.child ?? running.waiting?.open() ?? (await this.#startChild(running));
      running.child = child;
      output.collect(child);
      running.input?.connect(child.stdin);
      using limit = this.#timeLimit(running, child);
      running.limit = limit;
      if (running.cause) this.#end(running, child);
      exit = await child.exited;
      if (running.isLeft) return;
      running.isOver = true;
      running.input?.close();
      // A kill after the exit must not change the status.
      cause = running.cause;
      const remaining = await (running.ending ?? child.rest);
      if (remaining.length > 0) failure = notEnded(remaining);
      await output.drain();
    } catch (error) {
      this.#deps.logger.warn(
        { err: error, process_id: process.process_id },
        'cannot start a process',
      );
      failure = { code: 'start_failed', message: await startFailure(error, process.cwd) };
      cause = null;
    }
    await this.#finish(running, { exit, failure, cause, output: output.totals });
  }

  #startChild(running: Running): Promise<Child> {
    const { supervisor, store, clock } = this.#deps;
    return supervisor.start(this.#commandOf(running), (tx, pid) =>
      store.move(tx, startProcess(running.process, pid, clock.now()), 'process.started'),
    );
  }

  #commandOf({ process, sandbox }: Running): ChildCommand {
    const { process_id, session_id, command, cwd, stdin } = process;
    const { settings, secretVariables } = this.#deps;
    const { allow_shell, env_remove, env_pass: pass } = settings();
    const [program, ...args] = allow_shell
      ? (['/bin/sh', '-c', command] as const)
      : splitWords(command);
    const env = processEnvironment(globalThis.process.env, {
      processId: process_id,
      sessionId: session_id,
      remove: new Set([...env_remove, ...secretVariables()]),
      pass,
    });
    const what = descriptionOf(process);
    const outlives = process.outlive === true;
    return { command: program, args, cwd, env, what, stdin, sandbox, outlives, isStored: outlives };
  }

  #timeLimit(running: Running, child: Child): Disposable {
    const { timeout_ms, started_at } = running.process;
    if (timeout_ms === 0) return { [Symbol.dispose]: () => undefined };
    const { clock } = this.#deps;
    // A process of another server has a start.
    const ran = started_at === null ? 0 : Math.max(0, clock.now() - started_at);
    return clock.after(Math.max(0, timeout_ms - ran), () => {
      running.cause ??= { status: 'timed_out', reason: null };
      this.#end(running, child);
    });
  }

  /** Ends the group, then the processes that have left it but still have its id in their environment. */
  #end(running: Running, child: Child): void {
    const { process_id } = running.process;
    running.ending ??= child.end(this.#deps.settings().kill_grace_ms).then(async (remaining) => {
      await killCarriers(`CADRE_PROCESS_ID=${process_id}`);
      return remaining;
    });
  }

  async #finish(running: Running, end: ProcessEnd): Promise<void> {
    const { store, clock, notices } = this.#deps;
    const { process_id } = running.process;
    running.output.flush();
    running.input?.close();
    const tails =
      running.process.on_exit === null ? null : (await printedOf(this.#deps, process_id)).tails;
    await persist(this.#deps, this.#stopping.signal, { process_id }, (tx) => {
      const now = store.process(tx, process_id);
      if (hasEnded(now)) return;
      const ended = endProcess(now, end, clock.now());
      store.move(tx, ended, `process.${ended.status}`);
      if (tails) notices.put(tx, ended, tails);
      tx.whenDurable(() => {
        this.ended[ended.status] = (this.ended[ended.status] ?? 0) + 1;
        running.child?.forget();
      });
    });
    this.#all.delete(process_id);
    running.done.resolve();
  }
}
