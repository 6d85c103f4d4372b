import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { prepareDirectory, withDataDirectory } from '../../../src/core/config/data-directory.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;
const mode = (file: string) => (fs.statSync(file).mode & 0o7777).toString(8);

/** Makes a directory with files, by name. A value of null makes a directory. */
function directoryWith(place: string, files: Record<string, string | null>): string {
  const directory = path.join(place, 'data');
  fs.mkdirSync(directory, { mode: 0o755 });
  for (const [name, text] of Object.entries(files)) {
    if (text === null) fs.mkdirSync(path.join(directory, name));
    else fs.writeFileSync(path.join(directory, name), text);
  }
  return directory;
}

/** Returns all files of a directory with their modes, owners and sizes. */
function lookOf(directory: string): unknown {
  return fs
    .readdirSync(directory, { recursive: true })
    .concat('.')
    .map((name) => {
      const { mode, uid, size } = fs.lstatSync(path.join(directory, String(name)));
      return [name, mode, uid, name === '.' ? 0 : size];
    });
}

function expectRefused(directory: string, why: RegExp): void {
  const before = lookOf(directory);
  expect(() => prepareDirectory(directory)).toThrow(why);
  expect(lookOf(directory)).toEqual(before);
}

test.for<[string, Record<string, string | null>]>([
  ['empty', {}],
  ['with a configuration and a token in it', { 'config.toml': '', auth: null }],
  ['with the token of an agent that uses a server elsewhere', { callers: null }],
  ['with what a file system brings along', { 'lost+found': null }],
  ['that the Finder has looked into', { '.DS_Store': 'x' }],
  [
    "a server's of before",
    { README: 'This directory belongs to cadre. …', 'events.cadre': '', own: '' },
  ],
  ['a restored backup', { 'events.cadre': 'x' }],
])('A data directory may be %s, and is then accessible to its user only.', async ([, files]) => {
  const directory = directoryWith(testDirectory('data'), files);
  prepareDirectory(directory);
  expect(mode(directory)).toBe('700');
  expect(fs.readFileSync(path.join(directory, 'README'), 'utf8')).toContain('belongs to cadre');
  prepareDirectory(directory);
});

test('A missing data directory is created.', async () => {
  const directory = path.join(testDirectory('data'), 'a', 'b');
  prepareDirectory(directory);
  expect(mode(directory)).toBe('700');
});

test('A data directory may be reached through a link, and contain links to directories of its user.', async () => {
  await using place = tempDirectory('data');
  const directory = directoryWith(place.path, { 'events.cadre': '' });
  const elsewhere = path.join(place.path, 'elsewhere');
  fs.mkdirSync(elsewhere);
  fs.symlinkSync(elsewhere, path.join(directory, 'worktrees'));
  fs.symlinkSync(directory, path.join(place.path, 'link'));
  prepareDirectory(path.join(place.path, 'link'));
  expect(mode(directory)).toBe('700');
});

test('A directory with other files is refused as a data directory, and nothing changes.', async () => {
  await using place = tempDirectory('data');
  expectRefused(
    directoryWith(place.path, { 'my thesis': 'x', 'photo.png': 'y' }),
    /contains my thesis and 1 more, and is not a data directory of cadre/,
  );
});

test('A directory that all users can write is refused, and keeps its mode.', async () => {
  const directory = directoryWith(testDirectory('data'), {});
  fs.chmodSync(directory, 0o1777);
  expectRefused(
    directory,
    /is writable for all users: choose another directory, new or existing, with --data-dir/,
  );
  expect(mode(directory)).toBe('1777');
});

test('A directory with a README of another project is refused.', async () => {
  await using place = tempDirectory('data');
  expectRefused(
    directoryWith(place.path, { README: 'How to build' }),
    /is not a data directory of cadre/,
  );
});

test.for(['README', 'lock', 'server.json', 'events.cadre', 'events.cadre-wal', 'logs', 'auth'])(
  'A data directory in which %s is a FIFO is refused without waiting.',
  async (name) => {
    const directory = directoryWith(testDirectory('data'), { 'events.cadre': '' });
    fs.rmSync(path.join(directory, name), { force: true });
    execFileSync('mkfifo', [path.join(directory, name)]);
    expectRefused(directory, /is not a data directory of cadre|is not a (regular file|directory)/);
  },
);

test('A data directory with a link in place of a file is refused.', async () => {
  const directory = directoryWith(testDirectory('data'), { 'events.cadre': '' });
  fs.symlinkSync('/etc/passwd', path.join(directory, 'server.json'));
  expectRefused(directory, /contains server\.json, which is not a regular file/);
});

test.skipIf(!isRoot)('A data directory of another user is refused (needs root).', async () => {
  const directory = directoryWith(testDirectory('data'), {});
  fs.chownSync(directory, NOBODY, NOBODY);
  expectRefused(directory, /belongs to another user \(uid 65534\)/);
});

test.skipIf(!isRoot)(
  'A data directory that contains a file of another user is refused (needs root).',
  async () => {
    const directory = directoryWith(testDirectory('data'), { 'events.cadre': '' });
    const link = path.join(directory, 'blobs');
    fs.symlinkSync('/etc', link);
    fs.lchownSync(link, NOBODY, NOBODY);
    expectRefused(directory, /contains blobs, which belongs to another user/);
  },
);

test('The error about a data directory names a change of the owner only if the system forbids the access.', () => {
  const messageOf = (code: string) => () =>
    withDataDirectory('/data', () => {
      throw Object.assign(new Error(`${code}: refused`), { code, syscall: 'open' });
    });
  expect(messageOf('EACCES')).toThrow(/\(EACCES: refused\): change its owner to .*--data-dir/);
  expect(messageOf('EROFS')).toThrow(/\(EROFS: refused\): name another directory with --data-dir/);
});
