import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { type Identity, identify } from './identity.ts';
import type { NetworkMode } from './sandbox/plan.ts';

const SHELL = '/bin/sh';

/**
 * The spawn barrier: a child begins as a shell that waits for a line on descriptor 3. If the server dies before the
 * child is on the keeper's list, the shell reads the end of the file and exits. The variable is unset, because it does
 * not belong to the command.
 */
const WAIT = 'IFS= read -r CADRE_GATE <&3 || exit 125; exec 3<&-; unset CADRE_GATE';

/** The limit of Linux for one argument of a program, in bytes (MAX_ARG_STRLEN without the NUL at its end). */
const MAX_ARGUMENT_BYTES = 131_071;

/** How a child ended. Both are null if it could not be ended because it runs as another user, and was given up. */
export interface ChildExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface BarrierCommand {
  command: string;
  args: readonly string[];
  cwd: string;
  /** The whole environment. */
  env: Record<string, string>;
  /** `none`: the command reads the end of the file at once. */
  stdin?: 'pipe' | 'none';
  /** The sandbox that the command runs in; null or absent: none. */
  sandbox?: BarrierSandbox | null;
}

/** A program that runs the command in a sandbox. */
export interface BarrierSandbox {
  /** The words before the command. */
  words: readonly string[];
  /** A file that the program reads from descriptor 9. */
  filter: string | null;
  /** Settings of git for the command, by their names. */
  gitSettings: Readonly<Record<string, string>>;
  network: NetworkMode;
  /** Resolves with the file of this machine that a path names inside; null if the sandbox does not show it. */
  fileOutside: FileOutside;
  /** Called if the program of the sandbox fails before the command runs. */
  onFailure: () => void;
}

export type FileOutside = (named: string) => Promise<string | null>;

/** A process that leads a group of its own and waits behind the barrier. */
export interface BarrierProcess {
  readonly process: ChildProcess;
  readonly leader: Identity;
  readonly exit: PromiseWithResolvers<ChildExit>;
}

/** Starts the shell that waits at the barrier. Returns the error if the system starts no process. */
export function startAtBarrier(command: BarrierCommand): BarrierProcess | Promise<Error> {
  const exit = Promise.withResolvers<ChildExit>();
  exit.promise.catch(() => undefined);
  let process: ChildProcess;
  try {
    process = spawn(SHELL, wordsOf(command), {
      cwd: command.cwd,
      env: command.env,
      detached: true,
      stdio: [command.stdin === 'none' ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe'],
    });
  } catch (error) {
    return Promise.resolve(error as Error);
  }
  process.once('exit', (code, signal) => exit.resolve({ code, signal }));
  process.once('error', exit.reject);
  for (const output of [process.stdout, process.stderr]) output?.on('readable', keepForLater);
  const leader = process.pid === undefined ? undefined : identify(process.pid);
  if (leader) return { process, leader, exit };
  // A process that cannot be identified must not wait at the barrier for ever.
  if (process.pid !== undefined) process.kill('SIGKILL');
  return exit.promise.then(
    () => new Error('the new process exited before cadre could identify it'),
    (error: unknown) => error as Error,
  );
}

/** Lets the command run. Whoever reads its output must begin in the same turn of the event loop. */
export function openBarrier({ process }: BarrierProcess): void {
  const gate = process.stdio[3] as Writable;
  for (const output of [process.stdout, process.stderr]) output?.off('readable', keepForLater);
  // A child that ends early is reported by its exit, so a failed write to its pipes must not end the server.
  for (const stream of [process.stdin, gate]) stream?.on('error', () => undefined);
  gate.end('\n');
}

/**
 * A shell that finds a mistake in the first line of the command prints that and exits before it has waited. Node drops
 * the output of a child that has exited, unless it has such a listener.
 */
function keepForLater(): void {}

/**
 * Returns the words of the shell at the barrier. The shell itself runs a shell command, which saves the start of a
 * second shell; any other command replaces the shell.
 */
function wordsOf({ command, args, sandbox }: BarrierCommand): string[] {
  if (sandbox) {
    const { words, filter } = sandbox;
    const run = filter === null ? 'exec "$@"' : 'exec "$@" 9<"$0"';
    return ['-c', `${WAIT}; ${run}`, filter ?? 'cadre', ...words, command, ...args];
  }
  const [flag, text = ''] = args;
  const own = `${WAIT}; ${text}`;
  if (command === SHELL && flag === '-c' && args.length === 2 && fitsArgument(own))
    return [flag, own];
  return ['-c', `${WAIT}; exec "$@"`, 'cadre', command, ...args];
}

function fitsArgument(text: string): boolean {
  return text.length * 3 <= MAX_ARGUMENT_BYTES || Buffer.byteLength(text) <= MAX_ARGUMENT_BYTES;
}
