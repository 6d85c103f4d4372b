import { PassThrough, type Writable } from 'node:stream';
import type { Process } from '../../../api/processes.ts';
import type { BarrierSandbox } from '../../../core/children/spawn-barrier.ts';
import type { Child, Waiting } from '../../../core/children/supervisor.ts';
import { AppError, conflictError } from '../../../api/errors.ts';
import type { ProcessDependencies } from './dependencies.ts';
import { logPath } from './log-file.ts';
import { type SurvivingOutput, ProcessOutput, type StreamName } from './output.ts';
import type { Cause } from './process.ts';
import { nothingPrinted, type Printed, readPrinted } from './reading.ts';

export interface ProcessStart {
  /** Null: it runs without a sandbox. */
  readonly sandbox: BarrierSandbox | null;
  /** The process that it replaces, for whose end it waits in the queue. */
  readonly after: string | undefined;
  /** The output of a process that another server has started. Absent: this server starts it. */
  readonly left?: Record<StreamName, SurvivingOutput>;
}

/** A process of this server that is queued or runs. */
export interface Running extends ProcessStart {
  readonly process: Process;
  readonly output: ProcessOutput;
  readonly done: PromiseWithResolvers<void>;
  readonly listeners: Set<(stream: StreamName, chunk: Buffer) => void>;
  /** Set if it waited at its spawn barrier before it was accepted. */
  waiting: Waiting | undefined;
  isAccepted: boolean;
  child: Child | undefined;
  /** Ends it at its time limit, until disposed. */
  limit: Disposable | undefined;
  /** Whether its leader has exited: this server stores its end. */
  isOver: boolean;
  /** Whether another server continues with it. */
  isLeft: boolean;
  /** Null if the process was created without input. */
  readonly input: ProcessInput | null;
  isHeld: boolean;
  cause: Cause | null;
  /** Set once it is being ended. Resolves with the pids of its group that the server may not signal. */
  ending: Promise<readonly number[]> | undefined;
}

type Dependencies = Pick<
  ProcessDependencies,
  'db' | 'store' | 'clock' | 'logger' | 'directory' | 'settings'
>;

/** Returns the network of a process: of this machine, or of a sandbox with this leader. Null: the process does not run yet. */
export function networkOf(running: Running | undefined): 'machine' | { leader: number } | null {
  const { sandbox, child } = running ?? {};
  const kept = child?.sandbox ?? sandbox?.kept;
  if (!kept || kept.network === 'all') return 'machine';
  return child ? { leader: child.pid } : null;
}

/** Returns the state of a process that has not begun. */
export function runningOf(process: Process, deps: Dependencies, start: ProcessStart): Running {
  const { db, store, clock, logger, directory, settings } = deps;
  const { process_id } = process;
  const listeners: Running['listeners'] = new Set();
  const output = new ProcessOutput({
    pathOf: (stream) => logPath(directory, process_id, stream),
    capBytes: settings().max_output_bytes_per_process,
    left: start.left,
    clock,
    announce: (payload) =>
      void db
        .transact((tx) => store.appendOutput(tx, process, payload))
        .catch((error: unknown) =>
          logger.warn({ err: error, process_id }, 'cannot store an event about output'),
        ),
    onChunk: (stream, chunk) => {
      for (const listener of listeners) listener(stream, chunk);
    },
    onError: (error) =>
      logger.warn({ err: error, process_id }, 'cannot store output: it is dropped'),
  });
  return {
    ...start,
    process,
    listeners,
    waiting: undefined,
    isAccepted: false,
    child: undefined,
    limit: undefined,
    isOver: false,
    isLeft: false,
    input: process.stdin === 'pipe' ? new ProcessInput() : null,
    isHeld: start.after !== undefined,
    cause: null,
    ending: undefined,
    done: Promise.withResolvers<void>(),
    output,
  };
}

/** Resolves with the stored output of a process. Never rejects, because the end of a process is stored also without it. */
export function printedOf(
  { directory, logger }: Pick<Dependencies, 'directory' | 'logger'>,
  process_id: string,
): Promise<Printed> {
  return readPrinted(directory, process_id).catch((error: unknown) => {
    logger.warn({ err: error, process_id }, 'cannot read the output of a process');
    return nothingPrinted;
  });
}

/** The maximum of input that is held beside its pipe, in bytes; beyond it, a sender waits. */
const HELD_BYTES = 64 * 1024;
/** If more bytes wait, a further sender is refused. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** The input of a process, passed on in the order in which clients sent it. */
class ProcessInput {
  readonly #held = new PassThrough({ highWaterMark: HELD_BYTES });

  constructor() {
    this.#held.setMaxListeners(0);
    // The write of each sender rejects with the error.
    this.#held.on('error', () => undefined);
  }

  connect(stdin: Writable): void {
    this.#held.pipe(stdin);
    stdin.once('close', () => this.close());
  }

  /** Refuses all further input, also from senders that wait. */
  close(): void {
    this.#held.destroy();
  }

  /**
   * Passes data on; with `eof` the process then reads the end of its input. Resolves once the data is passed on or held,
   * so that a sender is as fast as the process reads. Throws `conflict` if the process reads no more, `too_many` if too
   * much is waiting.
   */
  async write(data: Buffer, eof: boolean): Promise<void> {
    if (this.#held.writableEnded)
      throw conflictError(
        'the input of the process was already closed, so no more input can be sent',
      );
    if (this.#held.writableLength > MAX_WAITING_BYTES)
      throw new AppError(
        'too_many',
        `the input that the process has not read yet exceeds ${MAX_WAITING_BYTES} bytes: wait for the response to an earlier write request`,
      );
    const taken = Promise.withResolvers<void>();
    const refuse = () => taken.reject(conflictError('the process has closed its input'));
    const done = (error?: Error | null) => (error ? refuse() : taken.resolve());
    // A stream that is destroyed does not call back for the write that it was at.
    this.#held.once('close', refuse);
    if (eof) this.#held.end(data, done);
    else this.#held.write(data, done);
    await taken.promise.finally(() => this.#held.off('close', refuse));
  }
}
