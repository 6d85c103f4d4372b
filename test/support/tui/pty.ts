import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { scaled } from '../patience.ts';
import { python } from '../python.ts';
import { samePlatform, sharedCode } from '../server.ts';
import { TerminalEmulator } from './terminal-emulator.ts';

/** Whether there is something that makes terminals. */
export const hasPty = spawnSync(python, ['-ISc', 'import pty']).status === 0;

// Node makes no terminals; Python, which nearly every machine has, does: in a third of the time without what a user has
// added to it. Sizes come as lines on descriptor 3; how the command left its terminal goes to stderr.
const relay = `
import fcntl, os, pty, select, struct, sys, termios
def resize(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', int(rows), int(columns), 0, 0))
pid, master = pty.fork()
if pid == 0:
    os.close(3)
    resize(0, sys.argv[1], sys.argv[2])
    os.execv(sys.argv[3], sys.argv[3:])
before = termios.tcgetattr(master)
sources = [master, 0, 3]
while master in sources:
    for fd in select.select(sources, [], [])[0]:
        try:
            data = os.read(fd, 65536)
        except OSError:
            data = b''
        if not data:
            sources.remove(fd)
        elif fd == master:
            os.write(1, data)
        elif fd == 0:
            os.write(master, data)
        else:
            resize(master, *data.split()[-2:])
status = os.waitpid(pid, 0)[1]
after = termios.tcgetattr(master)
sys.stderr.write('as it was' if before == after else 'changed')
sys.exit(os.waitstatus_to_exitcode(status) & 255)
`;

/** A command of cadre in a terminal of its own. */
export interface TerminalProcess extends AsyncDisposable {
  emulator: TerminalEmulator;
  /** The id of the process of the command. */
  pid: () => number;
  /** Sends a signal to the command itself. */
  signal: (name: NodeJS.Signals) => void;
  expectShows: (text: string | RegExp) => Promise<void>;
  /** Resolves once this holds, which is looked at whenever something was written; rejects when the command ends before. */
  until: (holds: () => boolean) => Promise<void>;
  /**
   * Types a text. `type('x').shows('y')` then waits until the terminal shows a text, and `type('x').ends(0)` until the
   * command ends with this exit code and leaves the terminal as it was.
   */
  type: (text: string) => {
    shows: TerminalProcess['expectShows'];
    ends: (code: number) => Promise<void>;
  };
  resize: (rows: number, columns: number) => void;
  /** Its exit code, once it ended, and whether it left the modes of the terminal as it found them. */
  ended: Promise<{ code: number | null; terminal: string }>;
}

/** Starts the built command in a terminal, as somebody at home in `directory` would. */
export function runInTerminal(
  directory: string,
  args: readonly string[],
  env: Record<string, string> = {},
  size: { rows: number; columns: number } = { rows: 20, columns: 100 },
): TerminalProcess {
  const { file, args: self } = selfCommand();
  return runProgramInTerminal(
    directory,
    [file, ...self, '--data-dir', directory, ...args],
    env,
    size,
  );
}

/** Starts any program in a terminal; its first word is the path of it. */
export function runProgramInTerminal(
  directory: string,
  command: readonly string[],
  env: Record<string, string> = {},
  size: { rows: number; columns: number } = { rows: 20, columns: 100 },
): TerminalProcess {
  const { rows, columns } = size;
  const child = spawn(python, ['-ISc', relay, String(rows), String(columns), ...command], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    cwd: directory,
    env: {
      PATH: process.env.PATH ?? '',
      TMPDIR: process.env.TMPDIR ?? '/tmp',
      HOME: directory,
      TERM: 'xterm-256color',
      ...samePlatform(),
      ...sharedCode(),
      ...env,
    },
  });
  // Who types does not know yet that the command was killed.
  child.stdin.on('error', () => undefined);
  const emulator = new TerminalEmulator(size);
  let terminal = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => emulator.write(text));
  const until = (holds: () => boolean) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!holds()) return;
        child.stdout.off('data', look);
        child.off('close', end);
        resolve();
      };
      const end = () => reject(new Error(`it ended, and had shown:\n${emulator.text()}`));
      child.stdout.on('data', look);
      child.once('close', end);
      look();
    });
  // Looked at only when something was written: to ask again and again costs more than most commands.
  const expectShows = async (wanted: string | RegExp) => {
    const isThere = () => {
      const text = emulator.text();
      return typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text);
    };
    const late = new AbortController();
    const limit = pause(scaled(10_000), undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([until(isThere).catch(() => undefined), limit]);
    late.abort();
    expect(emulator.text()).toMatch(wanted);
  };
  child.stderr.setEncoding('utf8').on('data', (text: string) => (terminal += text));
  const control = child.stdio[3] as NodeJS.WritableStream;
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, terminal }));
  return {
    emulator,
    pid: () => onlyChildOf(child.pid),
    signal: (name) => process.kill(onlyChildOf(child.pid), name),
    expectShows,
    until,
    type(text) {
      child.stdin.write(text);
      const ends = (code: number) =>
        expect(ended).resolves.toEqual({ code, terminal: 'as it was' });
      return { shows: expectShows, ends };
    },
    resize(to, wide) {
      control.write(`${to} ${wide}\n`);
      emulator.resize({ rows: to, columns: wide });
    },
    ended,
    // A command whose terminal has gone goes, too.
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function onlyChildOf(pid = 0): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}
