import type { Process } from '../../../api/processes.ts';
import type { Child, Waiting } from '../../../core/children/supervisor.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import type { Logger } from '../../../core/lib/log.ts';
import type { Database } from '../../../core/store/database.ts';
import { ProcessInput } from './input.ts';
import { logPath } from './log-file.ts';
import { ProcessOutput, type StreamName } from './output.ts';
import type { Cause } from './process.ts';
import type { ProcessStore } from './store.ts';

/** A process of this server that is queued or runs. */
export interface Running {
  readonly process: Process;
  readonly output: ProcessOutput;
  readonly done: PromiseWithResolvers<void>;
  /** Called with each chunk of output. */
  readonly listeners: Set<(stream: StreamName, chunk: Buffer) => void>;
  /** Set if it was started, up to the gate, before it was accepted. */
  waiting: Waiting | undefined;
  isAccepted: boolean;
  child: Child | undefined;
  /** What clients send to it; null if it was created without. */
  readonly input: ProcessInput | null;
  /** The process that it replaces, for whose end it waits in the queue. */
  readonly after: string | undefined;
  isHeld: boolean;
  /** The reason to end it before it exits by itself. Only the first one counts. */
  cause: Cause | null;
  /** Set once it is being ended. Resolves with the pids of its group that the server may not signal. */
  ending: Promise<readonly number[]> | undefined;
}

interface Dependencies {
  db: Database;
  store: ProcessStore;
  clock: Clock;
  logger: Logger;
  directory: string;
  settings: () => { max_output_bytes_per_process: number };
}

/** Returns the state of a process that has not begun. */
export function runningOf(process: Process, deps: Dependencies, after?: string): Running {
  const listeners: Running['listeners'] = new Set();
  return {
    process,
    listeners,
    waiting: undefined,
    isAccepted: false,
    child: undefined,
    input: process.stdin === 'pipe' ? new ProcessInput() : null,
    after,
    isHeld: after !== undefined,
    cause: null,
    ending: undefined,
    done: Promise.withResolvers<void>(),
    output: outputOf(process, deps, listeners),
  };
}

function outputOf(
  process: Process,
  { db, store, clock, logger, directory, settings }: Dependencies,
  listeners: Running['listeners'],
): ProcessOutput {
  const { process_id } = process;
  return new ProcessOutput({
    pathOf: (stream) => logPath(directory, process_id, stream),
    capBytes: settings().max_output_bytes_per_process,
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
}
