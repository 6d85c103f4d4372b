import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { builtTree, filesIn, put } from '../support/built-tree.ts';
import { scaled } from '../support/patience.ts';
import { tempDirectory, testDirectory } from '../support/temp.ts';

test('Uninstalling removes the installed files, and nothing else.', () => {
  using place = tempDirectory();
  const prefix = path.join(place.path, 'prefix');
  const foreign = ['bin/other', 'share/doc/cadre/notes', 'share/man/man1/other.1'];
  for (const name of foreign) put(path.join(prefix, name), 'foreign');
  installer(treeIn(place.path), 'install', prefix);
  expect(filesIn(prefix)).toEqual(
    [
      ...foreign,
      'bin/cadre',
      'share/bash-completion/completions/cadre',
      'share/doc/cadre/LICENSE',
      'share/doc/cadre/THIRD-PARTY-LICENSES',
      'share/doc/cadre/installed',
      'share/doc/cadre/installed-directories',
      'share/fish/vendor_completions.d/cadre.fish',
      'share/man/man1/cadre.1',
      'share/man/man5/cadre-config.5',
      'share/zsh/site-functions/_cadre',
    ].toSorted(),
  );
  expect(fs.statSync(path.join(prefix, 'bin/cadre')).mode & 0o777).toBe(0o755);
  fs.appendFileSync(path.join(prefix, 'share/zsh/site-functions/_cadre'), '# mine');
  const { stderr } = installer(treeIn(place.path), 'uninstall', prefix);
  expect(stderr).toContain('_cadre: the file was changed after the installation');
  expect(filesIn(prefix)).toEqual([...foreign, 'share/zsh/site-functions/_cadre'].toSorted());
});

test('Empty directories are removed if the installation made them, and others are kept.', () => {
  using place = tempDirectory();
  const prefix = path.join(place.path, 'prefix');
  fs.mkdirSync(path.join(prefix, 'share/man'), { recursive: true });
  const tree = treeIn(place.path);
  installer(tree, 'install', prefix);
  installer(tree, 'install', prefix);
  put(path.join(prefix, 'share/fish/foreign'), 'foreign');
  installer(tree, 'uninstall', prefix);
  const left = execFileSync('find', ['.'], { cwd: prefix, encoding: 'utf8' });
  expect(left.trim().split('\n').toSorted()).toEqual([
    '.',
    './share',
    './share/fish',
    './share/fish/foreign',
    './share/man',
  ]);
});

test('A prefix that the installation made is removed with its last file.', () => {
  using place = tempDirectory();
  const prefix = path.join(place.path, 'prefix');
  const tree = treeIn(place.path);
  installer(tree, 'install', prefix);
  installer(tree, 'uninstall', prefix);
  expect(fs.existsSync(prefix)).toBe(false);
});

test('An installation without a list of directories is removed, as of an older version.', () => {
  using place = tempDirectory();
  const prefix = path.join(place.path, 'prefix');
  const tree = treeIn(place.path);
  installer(tree, 'install', prefix);
  fs.rmSync(path.join(prefix, 'share/doc/cadre/installed-directories'));
  installer(tree, 'uninstall', prefix);
  expect(filesIn(prefix)).toEqual([]);
  expect(fs.existsSync(path.join(prefix, 'share/doc/cadre'))).toBe(false);
});

test('A newer version takes away what only the older one had; DESTDIR goes before the prefix.', () => {
  using place = tempDirectory();
  const env = { DESTDIR: path.join(place.path, 'harness') };
  const tree = treeIn(place.path);
  const page = path.join(tree, 'dist/man/man1/cadre-gone.1');
  put(page, 'a page');
  installer(tree, 'install', '/usr', env);
  fs.rmSync(page);
  installer(tree, 'install', '/usr', env);
  const installed = filesIn(path.join(env.DESTDIR, 'usr'));
  expect(installed).toContain('share/man/man1/cadre.1');
  expect(installed).not.toContain('share/man/man1/cadre-gone.1');
});

test('Where nothing was installed, nothing is removed.', () => {
  using place = tempDirectory();
  put(path.join(place.path, 'prefix/bin/cadre'), 'foreign');
  const script = path.join(treeIn(place.path), 'scripts/install.mjs');
  const prefix = path.join(place.path, 'prefix');
  const run = spawnSync(process.execPath, [script, 'uninstall', prefix], { encoding: 'utf8' });
  expect([run.status, run.stderr]).toEqual([1, expect.stringContaining('no installation found')]);
  expect(filesIn(prefix)).toEqual(['bin/cadre']);
});

test('A prefix that begins with ~ is in the home directory, also where the shell leaves it as it is.', () => {
  using place = tempDirectory();
  installer(treeIn(place.path), 'install', '~/.local', { HOME: place.path });
  expect(filesIn(path.join(place.path, '.local'))).toContain('bin/cadre');
});

test('All users may read what is installed, whatever the user who installs it lets others read.', () => {
  using place = tempDirectory();
  const prefix = path.join(place.path, 'prefix');
  const before = process.umask(0o077);
  try {
    installer(treeIn(place.path), 'install', prefix);
  } finally {
    process.umask(before);
  }
  const hidden = execFileSync('find', [prefix, '!', '-perm', '-o=r'], { encoding: 'utf8' });
  expect(hidden).toBe('');
});

test('A prefix where no directory can be made is refused.', () => {
  const script = path.join(treeIn(testDirectory()), 'scripts/install.mjs');
  const args = [script, 'install', '/proc/prefix'];
  const run = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: scaled(20_000) });
  expect([run.status, run.stderr]).toEqual([
    1,
    expect.stringMatching(/^install: E[A-Z]+: .*\/proc/),
  ]);
});

test('A failed installation removes the files that it has installed.', () => {
  using place = tempDirectory();
  const prefix = path.join(place.path, 'prefix');
  fs.mkdirSync(path.join(prefix, 'share/man/man5/cadre-config.5'), { recursive: true });
  const tree = treeIn(place.path);
  const script = path.join(tree, 'scripts/install.mjs');
  const run = spawnSync(process.execPath, [script, 'install', prefix], { encoding: 'utf8' });
  expect([run.status, run.stderr]).toEqual([1, expect.stringMatching(/^install: .*cadre-config/)]);
  fs.rmdirSync(path.join(prefix, 'share/man/man5/cadre-config.5'));
  installer(tree, 'uninstall', prefix);
  expect(filesIn(prefix)).toEqual([]);
});

/** A tree with the scripts, and files in the places of those that are installed. */
function treeIn(place: string): string {
  const tree = builtTree(path.join(place, 'tree'));
  const sources = ['make-directory', 'system-error'].map((name) => `src/core/lib/${name}.ts`);
  for (const name of ['scripts/install.mjs', 'scripts/layout.ts', ...sources])
    put(path.join(tree, name), fs.readFileSync(name, 'utf8'));
  return tree;
}

function installer(tree: string, action: string, prefix: string, more: NodeJS.ProcessEnv = {}) {
  const script = path.join(tree, 'scripts/install.mjs');
  const env = { PATH: process.env.PATH, ...more };
  const run = spawnSync(process.execPath, [script, action, prefix], { encoding: 'utf8', env });
  expect([run.status, run.stderr.replaceAll(/.*changed after the installation\n/g, '')]).toEqual([
    0,
    '',
  ]);
  return run;
}
