import { describe, expect, test } from 'vitest';
import type { HostView } from '../../../../src/core/children/sandbox/host-view.ts';
import { ownDirectoriesIn } from '../../../../src/core/children/sandbox/own-directories.ts';
import {
  type SeatbeltInput,
  seatbeltProfile,
} from '../../../../src/core/children/sandbox/seatbelt.ts';

const HOME = '/Users/u';
const DATA = `${HOME}/Library/cadre`;

const found = (path: string) => ({ asked: path, path, isDirectory: true, links: [] });

const view: HostView = {
  home: HOME,
  dataDirectory: DATA,
  worktrees: `${DATA}/worktrees`,
  top: [],
  system: [],
  homeReadable: [found(`${HOME}/.gitconfig`)],
  tools: [found(`${HOME}/.nvm/versions/node/v22`)],
  secrets: [found(`${HOME}/.ssh`)],
  procReadOnly: [],
  procHidden: [],
};

const common = `${HOME}/project/.git`;
const root = `${DATA}/worktrees/mine`;
const input: SeatbeltInput = {
  view,
  root,
  isReadOnly: false,
  own: ownDirectoriesIn(`${DATA}/sandbox/s`),
  repository: {
    commonDirectory: common,
    gitDirectory: `${common}/worktrees/mine`,
    file: `${root}/.git`,
  },
  read: [],
  write: [],
  hide: [],
  ports: [61_128],
};

type Term = string | Term[];

/** Reads a profile as nested lists. */
function parse(text: string): Term[] {
  const stack: Term[][] = [[]];
  for (const [token] of text.matchAll(/[()]|"(?:\\.|[^"])*"|[^\s()]+/g))
    if (token === '(') stack.push([]);
    else if (token === ')') {
      const list = stack.pop() ?? [];
      stack.at(-1)?.push(list);
    } else stack.at(-1)?.push(token.startsWith('"') ? (JSON.parse(token) as string) : token);
  expect(stack).toHaveLength(1);
  return stack[0] ?? [];
}

/** Whether a profile allows an operation on a file: of all rules for it, the last one decides. */
function allows(profile: string, operation: string, file: string): boolean {
  let isAllowed = false;
  for (const [verdict, ...terms] of parse(profile) as Term[][]) {
    if (!terms.includes(operation)) continue;
    const paths = terms.flatMap((term) => (Array.isArray(term) ? [String(term[1])] : []));
    if (paths.some((one) => file === one || file.startsWith(`${one}/`)))
      isAllowed = verdict === 'allow';
  }
  return isAllowed;
}

const reads = (file: string, changes: Partial<SeatbeltInput> = {}) =>
  allows(seatbeltProfile({ ...input, ...changes }), 'file-read*', file);
const writes = (file: string, changes: Partial<SeatbeltInput> = {}) =>
  allows(seatbeltProfile({ ...input, ...changes }), 'file-write*', file);

describe('the profile of a sandbox on macOS', () => {
  test('A program writes its root and its own directories, and reads the system and its tools.', () => {
    for (const file of [`${root}/a`, `${DATA}/sandbox/s/home/.bashrc`, `${DATA}/sandbox/s/tmp/x`])
      expect([reads(file), writes(file)]).toEqual([true, true]);
    for (const file of [
      '/usr/bin/git',
      `${HOME}/.gitconfig`,
      `${HOME}/.nvm/versions/node/v22/bin/node`,
    ])
      expect([reads(file), writes(file)]).toEqual([true, false]);
    expect(writes(`${root}/a`, { isReadOnly: true })).toBe(false);
    expect(reads(`${root}/a`, { isReadOnly: true })).toBe(true);
  });

  test('Secrets, the data directory, other projects and hidden paths are neither read nor written.', () => {
    const hidden = [
      `${HOME}/.ssh/id`,
      `${DATA}/auth/token`,
      `${HOME}/other/.env`,
      `${DATA}/sandbox/t/tmp/x`,
    ];
    for (const file of hidden) expect([reads(file), writes(file)]).toEqual([false, false]);
    const changes = { read: [HOME], hide: [`${HOME}/other`] };
    expect(reads(`${HOME}/third`, changes)).toBe(true);
    expect(reads(`${root}/a`, changes)).toBe(true);
    for (const file of [`${HOME}/.ssh/id`, `${HOME}/other/.env`, `${DATA}/auth/token`])
      expect(reads(file, changes)).toBe(false);
  });

  test('In a worktree, objects and refs are writable, and settings, hooks and the pins of the worktree are not.', () => {
    const own = `${common}/worktrees/mine`;
    for (const file of [`${common}/objects/aa/b`, `${common}/refs/heads/x.lock`, `${own}/index`])
      expect(writes(file)).toBe(true);
    const kept = [
      'config',
      'hooks/post-commit',
      'index',
      'HEAD',
      'commondir',
      'refs/cadre/x',
      'objects/info/alternates',
    ];
    for (const name of kept)
      expect([reads(`${common}/${name}`), writes(`${common}/${name}`)]).toEqual([true, false]);
    for (const file of [
      `${root}/.git`,
      `${own}/commondir`,
      `${own}/config.worktree`,
      `${common}/worktrees/other/HEAD`,
    ])
      expect(writes(file)).toBe(false);
    const main = {
      root: `${HOME}/project`,
      repository: { commonDirectory: common, gitDirectory: common, file: null },
    };
    expect(writes(`${HOME}/project/a`, main)).toBe(true);
    expect(writes(`${common}/index`, main)).toBe(false);
  });

  test('A program reaches the listed ports alone, and a path with quotes stays one word.', () => {
    const outbound = (text: string) => text.match(/network-outbound .*/g);
    expect(outbound(seatbeltProfile(input))).toEqual([
      'network-outbound (remote ip "localhost:61128"))',
    ]);
    expect(outbound(seatbeltProfile({ ...input, ports: [] }))).toBeNull();
    expect(seatbeltProfile({ ...input, ports: 'all' })).toContain('(allow network*)');
    const odd = '/Users/u/a") (allow default) ("b\\';
    expect(writes(`${odd}/x`, { write: [odd] })).toBe(true);
    expect(parse(seatbeltProfile({ ...input, write: [odd] }))).not.toContainEqual([
      'allow',
      'default',
    ]);
  });
});
