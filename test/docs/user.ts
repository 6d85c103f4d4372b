import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { selfCommand } from '../../src/core/lib/self.ts';
import { scaled } from '../support/patience.ts';
import { recordedServer, sharedCode } from '../support/server.ts';
import { TerminalEmulator } from '../support/tui/terminal-emulator.ts';
import { type TerminalProcess, runProgramInTerminal } from '../support/tui/pty.ts';
import { tempDirectory } from '../support/temp.ts';

/** Somebody with a home of their own, who types what a page says. */
export interface User extends AsyncDisposable {
  home: string;
  /** Types a command, answers what it asks with keys, and returns what it wrote, once it has ended. */
  runs: (command: string, keys?: Key[], size?: Size) => Promise<Written>;
  /** Starts a server in a terminal of its own, in place of an earlier one; returns what it wrote once it listens. */
  serves: (command: string) => Promise<Written>;
}

export interface Written {
  text: string;
  code: number;
}

/** How large a terminal is, in characters. */
export interface Size {
  rows: number;
  columns: number;
}

/** Keys that are typed once a text is shown. */
export interface Key {
  after: string;
  typed: string;
}

/** So wide that nothing is cut: a page says which size it means where that matters. */
const WIDE = { rows: 24, columns: 200 };
/** The address that pages show, and the directory in which they are at home. */
const SHOWN = { address: '127.0.0.1:7433', home: '/home/you' };
/** Each line that it reads runs the file, so a command may have many lines, and the output does not contain it. */
const LOOP = `back() { return "$1"; }; code=0
while IFS= read -rs; do
  failed=0; trap 'was=$?; case $BASH_COMMAND in back*|return*) ;; *) failed=$was ;; esac' ERR
  back "$code"; . "$HOME/../typed"; code=$?
  printf '\\033]9;%s\\007' "$((code ? code : failed))"
done`;

/** A user in a fresh home, with `cadre` on the PATH. */
export function newUser(): User {
  const directory = tempDirectory('docs');
  const home = path.join(directory.path, 'you');
  const bin = path.join(directory.path, 'bin');
  for (const place of [home, bin]) fs.mkdirSync(place);
  fs.writeFileSync(path.join(bin, 'cadre'), program(), { mode: 0o755 });
  fs.writeFileSync(path.join(home, '.gitconfig'), GIT);
  const env = {
    HOME: home,
    PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`,
    LANG: 'C.UTF-8',
    NO_COLOR: '1',
    ...sharedCode(),
  };
  const open = (script: string) =>
    runProgramInTerminal(home, ['/bin/bash', '-c', script], env, WIDE);
  const shell = open(LOOP);
  let server: TerminalProcess | undefined;
  const stop = async () => {
    server?.type('\u0003');
    await server?.ended;
  };
  let address = SHOWN.address;
  const asTyped = (text: string) =>
    text.replaceAll(SHOWN.address, address).replaceAll(SHOWN.home, home);
  const asShown = (text: string) =>
    text.replaceAll(home, SHOWN.home).replaceAll(address, SHOWN.address);
  return {
    home,
    async runs(command, keys = [], size = WIDE) {
      shell.resize(size.rows, size.columns);
      fs.writeFileSync(path.join(directory.path, 'typed'), asTyped(command));
      const from = shell.emulator.written.length;
      shell.type('\n');
      const seen = () => shell.emulator.written.slice(from);
      const shownBy = (text: string) => asShown(shown(text, size));
      for (const { after, typed } of keys) {
        await inTime(
          shell.until(() => shownBy(seen()).replaceAll(/\s+/g, ' ').includes(after)),
          () => `"${after}" is not shown:\n${shownBy(seen())}`,
        );
        shell.type(typed);
      }
      await inTime(
        shell.until(() => END.test(seen())),
        () => `the command does not end:\n${shownBy(seen())}`,
      );
      const [text = '', code] = seen().split(END);
      return { text: shownBy(text), code: Number(code) };
    },
    async serves(command) {
      await stop();
      server = open(`exec ${asTyped(command)}`);
      const { emulator, until } = server;
      await until(() => emulator.text().includes('Ctrl-C'));
      address = /127\.0\.0\.1:\d+/.exec(emulator.text())?.[0] ?? address;
      return { text: asShown(emulator.text()), code: 0 };
    },
    async [Symbol.asyncDispose]() {
      await stop();
      // Background processes of a page are left if the page fails before its end.
      if (fs.existsSync(path.join(home, '.local/share/cadre/server.json')))
        spawnSync(path.join(bin, 'cadre'), ['service', 'stop'], { env });
      await shell[Symbol.asyncDispose]();
      directory[Symbol.dispose]();
    },
  };
}

/** Fails with words of its own, before the test does without any. */
async function inTime(happens: Promise<void>, words: () => string): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  const late = pause(scaled(8000), undefined, { signal }).then(() => {
    throw new Error(words());
  });
  await Promise.race([happens, late]).finally(() => over.abort());
}

const END = /\u001b\]9;(\d+)\u0007/;

const GIT = '[user]\n\tname = You\n\temail = you@example.com\n[init]\n\tdefaultBranch = main\n';

/** A server takes a free port, and checks what it answers; all else is as a user's own. */
function program(): string {
  const { file, args } = selfCommand();
  const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ');
  const recorded = Object.entries(recordedServer()).map((entry) => entry.join('='));
  const serve = quoted([...recorded, file, ...args, 'serve', '--port', '0']);
  return `#!/bin/sh
[ "$1" != serve ] || { shift; exec env ${serve} "$@"; }
exec ${quoted([file, ...args])} "$@"
`;
}

/** Text that a terminal shows for the output; for a full-screen program, its last screen. */
function shown(written: string, { columns }: Size): string {
  const emulator = new TerminalEmulator({ columns, rows: 1000 });
  emulator.write(written);
  return emulator.isAlternate || emulator.before === '' ? emulator.text() : emulator.before;
}
