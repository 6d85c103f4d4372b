import { usageError } from '../../api/errors.ts';

/** A program that a command runs for its user and waits for. */
export interface Program {
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** By default, the directory of this command. */
  cwd?: string;
}

type Stream = 'inherit' | 'ignore' | 'pipe' | 2;
type Streams = [stdin: 'inherit' | 'ignore', stdout: Stream, stderr: Stream];

/** How a program ended, with its output if the output was read. */
export interface Ended {
  /** Null where a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Gives a program this command's own terminal until it ends. `isQuiet` keeps stdout for the command: what the program
 * prints there goes to stderr. Throws `usage` where it cannot be started.
 */
export function runHere(program: Program, isQuiet: boolean): Promise<Ended> {
  return run(program, ['inherit', isQuiet ? 2 : 'inherit', 'inherit']);
}

/** Runs a program without input and reads its output. Throws `usage` if the program cannot be started. */
export function runAndRead(program: Program): Promise<Ended> {
  return run(program, ['ignore', 'pipe', 'pipe']);
}

/**
 * Runs a program without input and hands on each line that it prints, until it ends or `signal` ends it. Throws `usage`
 * where it cannot be started, and the reason of a signal that has aborted before.
 */
export async function runAndFollow(
  { command, args, env }: Program,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<Ended> {
  const { execa } = await import('execa');
  signal.throwIfAborted();
  const child = execa(command, args, {
    env,
    extendEnv: false,
    stdio: ['ignore', 'pipe', 'pipe'],
    reject: false,
    buffer: { stdout: false },
    // Its way of ending the program with this one would end this one by the signal.
    cleanup: false,
  });
  signal.addEventListener('abort', () => child.kill(), { once: true });
  process.once('exit', () => child.kill());
  for await (const line of child.iterable()) onLine(line);
  const ended = await child;
  if (ended.exitCode === undefined && ended.signal === undefined)
    throw usageError(`cannot start the program ${command}: ${ended.originalMessage}`);
  return { code: ended.exitCode ?? null, stdout: '', stderr: ended.stderr };
}

async function run({ command, args, env, cwd }: Program, stdio: Streams): Promise<Ended> {
  const { execa } = await import('execa');
  const options = {
    ...(cwd === undefined ? {} : { cwd }),
    env,
    extendEnv: false,
    stdio,
    reject: false,
    stripFinalNewline: false,
  } as const;
  const ended = await execa(command, args, options);
  const { exitCode, signal, stdout, stderr } = ended;
  if (exitCode === undefined && signal === undefined)
    throw usageError(`cannot start the program ${command}: ${ended.originalMessage}`);
  return { code: exitCode ?? null, stdout: textOf(stdout), stderr: textOf(stderr) };
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : '';
}
