import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { expect } from 'vitest';
import { commands } from '../../../src/frontends/cli/commands/index.ts';
import { complete } from '../../../src/frontends/cli/complete/complete.ts';
import { runIn } from '../../../src/frontends/cli/program.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { testDemo } from '../demo-server.ts';
import { ManualClock } from '../manual-clock.ts';
import { recordedServer, samePlatform, sharedCode, type TestServer } from '../server.ts';

/** The exit and the output of a command. */
export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
  /** Parses its stdout as one JSON document. */
  json: () => unknown;
  /** Parses each line of its stdout as a JSON document. */
  lines: () => Record<string, unknown>[];
}

export interface RunOptions {
  /** Environment variables; undefined removes a default variable. */
  env?: Record<string, string | undefined>;
  stdin?: string;
  cwd?: string;
  /** Whether stdin and stderr are a terminal. */
  isTerminal?: boolean;
  /** The width of the terminal in columns; absent if stdout is not a terminal. */
  columns?: number;
  /** The signal that aborts on SIGINT and SIGTERM. */
  interrupted?: AbortSignal;
}

/** A running command. */
export interface Running {
  child: ChildProcess;
  stdout: () => string;
  stderr: () => string;
  ended: Promise<Ended>;
  /** Resolves once its stdout contains a text, or the command has ended. */
  until: (text: string) => Promise<void>;
}

function ended(code: number | null, stdout: string, stderr: string): Ended {
  return {
    code,
    stdout,
    stderr,
    json: () => JSON.parse(stdout) as unknown,
    lines: () =>
      stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

/** An environment without configuration and without a server. */
function environment(
  directory: string,
  env: Record<string, string | undefined>,
): Record<string, string> {
  const all = {
    PATH: process.env.PATH ?? '',
    TMPDIR: process.env.TMPDIR ?? '/tmp',
    HOME: directory,
    // A server that a command starts automatically would outlive its test.
    CADRE_CLIENT_AUTOSTART: 'never',
    ...samePlatform(),
    ...sharedCode(),
    ...env,
  };
  return Object.fromEntries(Object.entries(all).filter(isSet));
}

function isSet(variable: [string, string | undefined]): variable is [string, string] {
  return variable[1] !== undefined;
}

/** Expects a failure with one line on stderr, and nothing on stdout. */
export function expectFailure(
  { code, stdout, stderr }: Ended,
  exitCode: number,
  says: RegExp,
): void {
  expect(stderr).toMatch(says);
  expect(stderr).toMatch(/^cadre: [^\n]+\n$/);
  expect([code, stdout]).toEqual([exitCode, '']);
}

/** Starts the built command with `directory` as the home directory. */
export function startCadre(
  directory: string,
  args: readonly string[],
  options: RunOptions = {},
): Running {
  const { file, args: self } = selfCommand();
  const { env = {}, stdin = '', cwd } = options;
  const child = spawn(file, [...self, ...args], {
    env: environment(directory, { ...(args.includes('serve') ? recordedServer() : {}), ...env }),
    cwd: cwd ?? directory,
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const closed = once(child, 'close').then(([code]) =>
    ended(code as number | null, stdout, stderr),
  );
  const until = async (text: string) => {
    const shown = new Promise<void>((resolve) => {
      const look = () => void (stdout.includes(text) && resolve());
      child.stdout.on('data', look);
      look();
    });
    await Promise.race([shown, closed]);
  };
  return { child, stdout: () => stdout, stderr: () => stderr, ended: closed, until };
}

/** Runs the built command to its end. */
export function runCadre(
  directory: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Ended> {
  return startCadre(directory, args, options).ended;
}

/**
 * Runs a command line to its end in this process, with `directory` as the home directory. For tests of the output and
 * the effects of a command, not of its process.
 */
export async function runHere(
  directory: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Ended> {
  const { env = {}, stdin = '', cwd = directory, isTerminal = false, columns } = options;
  const [stdout, stderr] = [new Written(), new Written()];
  const typed = Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]);
  const code = await runIn(
    {
      stdin: Object.assign(typed, { isTTY: isTerminal }),
      stdout: Object.assign(stdout, columns === undefined ? {} : { isTTY: true, columns }),
      stderr: Object.assign(stderr, { isTTY: isTerminal }),
      env: environment(directory, env),
      cwd: () => cwd,
      clock: systemClock,
      interrupted: () => options.interrupted ?? never,
    },
    commands,
    args,
  );
  return ended(code, stdout.text, stderr.text);
}

/** Runs `cadre __complete` for the words of a command line in this process, without its time limit. */
export async function completeHere(
  directory: string,
  words: readonly string[],
  cwd = directory,
): Promise<Ended> {
  const stdout = new Written();
  const env = environment(directory, {});
  const io = { env, stdout, clock: new ManualClock(), cwd: () => cwd };
  await complete(['__complete', '--', ...words], io);
  return ended(0, stdout.text, '');
}

const never = new AbortController().signal;

/** A stream that keeps all written text. */
class Written extends Writable {
  text = '';

  override _write(part: unknown, _encoding: string, done: () => void): void {
    this.text += String(part);
    done();
  }
}

/** Returns a function that runs commands in this process against a server, which they find by its registration. */
export function cadreOn({ directory }: Pick<TestServer, 'directory'>) {
  return (args: readonly string[], options: RunOptions = {}) =>
    runHere(directory, ['--data-dir', directory, ...args], options);
}

/** Starts a server like `cadre serve --demo` until the test has finished, with a function that runs commands on it. */
export async function testCadre(...before: Parameters<typeof testDemo>) {
  const server = await testDemo(...before);
  return { server, cadre: cadreOn(server) };
}

/** Runs a line of shell in which `cadre` is the built command; returns its output. */
export async function shell(directory: string, script: string): Promise<Ended> {
  const { file, args } = selfCommand();
  const quoted = [file, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('bash', ['-c', `cadre() { ${quoted} "$@"; }\n${script}`], {
    env: environment(directory, {}),
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return ended(code, stdout, stderr);
}
