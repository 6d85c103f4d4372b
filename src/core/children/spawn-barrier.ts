import { type ChildProcess, spawn } from 'node:child_process';
import os from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { type Identity, identify, isAlive, signal } from './identity.ts';
import type { Mount } from './sandbox/files.ts';
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
  /** The facts that outlive the server with the command. */
  kept: KeptSandbox;
  /** Called if the program of the sandbox fails before the command runs. */
  onFailure: () => void;
}

/** The facts about a sandbox that another server needs to take over its command. */
export interface KeptSandbox {
  /** The directory that contains the own directories of the sandbox: it names the session, or another owner. */
  owner: string;
  /** Whether the command is the agent of a session. */
  isAgent: boolean;
  network: NetworkMode;
  /** The hosts that a network with a proxy reaches. */
  hosts: readonly string[];
  mounts: readonly Mount[];
}

/** How the shell at the barrier is started. */
export interface BarrierStart {
  /** The words of the shell. */
  words: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  stdin: 'pipe' | 'none';
}

/** A process that leads a group of its own and waits behind the barrier: a child of this process, or of the shim. */
export interface BarrierProcess {
  readonly leader: Identity;
  /** Whether the shim holds it, so that it may outlive this process. */
  readonly outlives: boolean;
  readonly exit: PromiseWithResolvers<ChildExit>;
  /** Null if its input is not a pipe. */
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Whether the leader has exited. To ask this costs nothing; to look for members of the group reads all processes. */
  readonly hasExited: boolean;
  /** Lets the command run. Whoever reads its output must begin in the same turn of the event loop. */
  open(): void;
  /** Writes a message to its input; resolves when the input has taken the message or is closed. */
  writeInput(message: string, key: string): Promise<void>;
  /** Says that an output up to an offset is handled. */
  acknowledge(upTo: number, stream: 'stdout' | 'stderr'): void;
  /** See `Child.endOutputs`. */
  endOutputs(): boolean;
  /** Closes its pipes. */
  close(): void;
  /** Says that its group is gone, so that nothing has to be kept of it. */
  forget(): void;
}

/** Starts the shell that waits at the barrier. Returns the error if the system starts no process. */
export function startAtBarrier(start: BarrierStart): BarrierProcess | Promise<Error> {
  const exit = Promise.withResolvers<ChildExit>();
  exit.promise.catch(() => undefined);
  let process: ChildProcess;
  try {
    process = spawn(SHELL, start.words, {
      cwd: start.cwd,
      env: start.env,
      detached: true,
      stdio: [start.stdin === 'none' ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe'],
    });
  } catch (error) {
    return Promise.resolve(error as Error);
  }
  process.once('exit', (code, signal) => exit.resolve({ code, signal }));
  process.once('error', exit.reject);
  for (const output of [process.stdout, process.stderr]) output?.on('readable', keepForLater);
  const leader = process.pid === undefined ? undefined : identify(process.pid);
  if (leader) return new OwnProcess(process, leader, exit);
  // A process that cannot be identified must not wait at the barrier for ever.
  if (process.pid !== undefined) process.kill('SIGKILL');
  return exit.promise.then(
    () => new Error('the new process exited before cadre could identify it'),
    (error: unknown) => error as Error,
  );
}

/** A child of this process. */
class OwnProcess implements BarrierProcess {
  readonly leader: Identity;
  readonly outlives = false;
  readonly exit: PromiseWithResolvers<ChildExit>;
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly #process: ChildProcess;

  constructor(process: ChildProcess, leader: Identity, exit: PromiseWithResolvers<ChildExit>) {
    this.#process = process;
    this.leader = leader;
    this.exit = exit;
    this.stdin = process.stdin;
    this.stdout = process.stdout as Readable;
    this.stderr = process.stderr as Readable;
  }

  get hasExited(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  open(): void {
    const gate = this.#process.stdio[3] as Writable;
    for (const output of [this.stdout, this.stderr]) output.off('readable', keepForLater);
    // A child that ends early is reported by its exit, so a failed write to its pipes must not end the server.
    for (const stream of [this.stdin, gate]) stream?.on('error', () => undefined);
    gate.end('\n');
  }

  writeInput(message: string): Promise<void> {
    const { stdin } = this;
    return new Promise((resolve) => {
      if (stdin?.writable) stdin.write(message, () => resolve());
      else resolve();
    });
  }

  acknowledge(): void {}

  endOutputs(): boolean {
    return false;
  }

  close(): void {
    for (const stream of this.#process.stdio) stream?.destroy();
    this.#process.unref();
  }

  forget(): void {}
}

/**
 * A shell that finds a mistake in the first line of the command prints that and exits before it has waited. Node drops
 * the output of a child that has exited, unless it has such a listener.
 */
function keepForLater(): void {}

/**
 * Returns how a command is started. The shell at the barrier itself runs a shell command, which saves the start of a
 * second shell; any other command replaces the shell.
 */
export function startOf(command: BarrierCommand): BarrierStart {
  const { cwd, env, stdin = 'pipe' } = command;
  return { words: wordsOf(command), cwd, env, stdin };
}

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

/** Reports a sandbox that has not started its command: bubblewrap then prints a line with its name, and exits with 1. */
export function watchStart({ stderr, exit }: BarrierProcess, { onFailure }: BarrierSandbox): void {
  let first = '';
  stderr.once('data', (chunk: Buffer | string) => (first = String(chunk)));
  stderr.once('close', () => {
    const report = ({ code }: ChildExit) => {
      if (code === 1 && /^(bwrap|nsenter): /.test(first)) onFailure();
    };
    void exit.promise.then(report, () => undefined);
  });
}

/** Stops waiting for a leader that only another user can end. */
export function abandonLeader(process: BarrierProcess): void {
  const { leader, exit } = process;
  if (process.hasExited) return;
  if (signal(leader.pid, 0) !== 'refused' || !isAlive(leader)) return;
  process.close();
  exit.resolve({ code: null, signal: null });
}

/** Node reports the first name of a number that has several, such as SIGABRT instead of SIGIOT. */
const signalNames = new Map(
  Object.entries(os.constants.signals)
    .map(([name, number]) => [number, name as NodeJS.Signals] as const)
    .toReversed(),
);

/** Returns the exit of a sandboxed command: bubblewrap exits with 128 + n if signal n ended the command. */
export function exitInside(exit: ChildExit): ChildExit {
  const name = signalNames.get((exit.code ?? 0) - 128);
  return name === undefined ? exit : { code: null, signal: name };
}
