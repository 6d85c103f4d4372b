/**
 * `make pictures`: writes the pictures of the screen in docs/pictures, drawn by the real program in tmux. An agent without a
 * model answers the prompts of scenes.mjs.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { selfCommand } from '../../src/core/lib/self.ts';
import { type Frame, terminalSvg } from './svg.ts';

const SIZE = { columns: 104, rows: 28 } as const;
const LIMIT_MS = 20_000;
const out = path.resolve('docs/pictures');
const home = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'cadre-pictures-'));
const shop = path.join(home, 'you', 'shop');
const { file, args } = selfCommand();

prepare();
try {
  await draw();
} finally {
  tmux('kill-server');
  run([file, ...args, 'stop', '--now']);
  fs.rmSync(home, { recursive: true, force: true, maxRetries: 20 });
}

/** Records the first minute as an animation, and then the screen as a picture. */
async function draw(): Promise<void> {
  const minute: Frame[] = [];
  const keep = (shownMs: number) => minute.push({ lines: screen(), shownMs });
  tmux('new-session', '-d', '-x', `${SIZE.columns}`, '-y', `${SIZE.rows}`, "PS1='$ ' bash --norc");
  await shown('$');
  keep(800);
  for (const line of ['cadre run "explain this repository"', 'cadre run "fix the login test"']) {
    await typed(line, keep);
    enter();
    const isLast = line.includes('login');
    for (const text of isLast
      ? ['Now I clear', 'accept?']
      : ['started a server', 'adds up', 'continue with']) {
      await shown(text);
      keep(900);
    }
    keep(1500);
    if (isLast) break;
  }
  tmux('send-keys', 'y');
  await shown('All 12 tests pass.');
  await shown('continue with');
  keep(2500);
  for (const [title, prompt] of [
    ['review the taxes', 'review the pull request about taxes'],
    ['update packages', 'update the dependencies'],
    ['login test', 'fix the login test'],
  ] as const) {
    const mode = ['--permission-mode', 'require_approval'];
    const id = run([file, ...args, 'sessions', 'create', '--title', title, '--cwd', shop, ...mode]);
    run([file, ...args, 'sessions', 'send', id.trim(), prompt, '--no-wait']);
  }
  await until(() => run([file, ...args, 'approvals', 'list']).includes('rm -rf'));
  tmux('send-keys', '-l', 'clear');
  enter();
  await typed('cadre', keep);
  enter();
  await shown('Needs you');
  await shown('Now I clear');
  keep(4000);
  write('screen.svg', [{ lines: screen(), shownMs: 1 }], 'The screen of cadre');
  tmux('send-keys', 'a');
  await pause(800);
  keep(2500);
  write('first-minute.svg', minute, 'The first minute with cadre');
}

function write(name: string, frames: readonly Frame[], title: string): void {
  fs.mkdirSync(out, { recursive: true });
  fs.writeFileSync(path.join(out, name), terminalSvg(frames, { ...SIZE, title }));
  console.log(`wrote docs/pictures/${name}`);
}

function prepare(): void {
  fs.mkdirSync(shop, { recursive: true });
  fs.mkdirSync(path.join(home, 'bin'));
  const words = [file, ...args].map((word) => `'${word}'`).join(' ');
  fs.writeFileSync(path.join(home, 'bin/cadre'), `#!/bin/sh\nexec ${words} "$@"\n`, {
    mode: 0o755,
  });
  const agent = [process.execPath, path.resolve('scripts/pictures/agent.mjs')];
  const config = path.join(home, '.config/cadre/config.toml');
  fs.mkdirSync(path.dirname(config), { recursive: true });
  fs.writeFileSync(
    config,
    `[defaults]\nprovider = "acp"\npermission_mode = "require_approval"\n[providers.acp]\ncommand = "${agent[0]}"\nargs = ["${agent[1]}"]\n` +
      '[providers.claude]\nenabled = false\n[providers.codex]\nenabled = false\n',
  );
}

function environment(): NodeJS.ProcessEnv {
  return {
    PATH: `${path.join(home, 'bin')}:${process.env.PATH}`,
    HOME: home,
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
    PS1: '$ ',
  };
}

function run([command = '', ...words]: readonly string[]): string {
  return execFileSync(command, words, { env: environment(), cwd: shop, encoding: 'utf8' });
}

function tmux(...words: string[]): string {
  const options = ['-L', `cadre-pictures-${process.pid}`, '-f', '/dev/null'];
  return execFileSync('tmux', [...options, ...words], {
    env: environment(),
    cwd: shop,
    encoding: 'utf8',
  });
}

function screen(): string[] {
  const text = tmux('capture-pane', '-e', '-p').replaceAll(home, '/home');
  return text.replace(/\n$/, '').split('\n');
}

/** Types a line as a user would, with a frame for every few characters. */
async function typed(line: string, keep: (shownMs: number) => void): Promise<void> {
  for (const part of line.match(/.{1,4}/g) ?? []) {
    tmux('send-keys', '-l', part);
    await pause(60);
    keep(160);
  }
}

function enter(): void {
  tmux('send-keys', 'Enter');
}

function shown(text: string): Promise<void> {
  return until(() => tmux('capture-pane', '-p').includes(text), text);
}

async function until(holds: () => boolean, what = ''): Promise<void> {
  for (const end = performance.now() + LIMIT_MS; !holds(); await pause(50))
    if (performance.now() > end)
      throw new Error(`"${what}" is not shown:\n${tmux('capture-pane', '-p')}`);
}
