import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { findProgram } from '../../src/core/lib/find-program.ts';
import { debName, debPackage } from '../../scripts/packages/deb.ts';
import { layout } from '../../scripts/layout.ts';
import { builtTree, filesIn } from '../support/built-tree.ts';
import { tempDirectory } from '../support/temp.ts';

const options = { version: '0.1.0', architecture: 'amd64', seconds: 1_795_312_000 };

test('The .deb has the program, the pages, the completions and the licences in the places of Debian.', () => {
  using place = tempDirectory();
  const root = unpack(place.path, packageOf(place.path));
  expect(filesIn(path.join(root, 'data'))).toEqual([
    'usr/bin/cadre',
    'usr/share/bash-completion/completions/cadre',
    'usr/share/doc/cadre/LICENSE',
    'usr/share/doc/cadre/THIRD-PARTY-LICENSES',
    'usr/share/doc/cadre/copyright',
    'usr/share/fish/vendor_completions.d/cadre.fish',
    'usr/share/man/man1/cadre.1.gz',
    'usr/share/man/man5/cadre-config.5.gz',
    'usr/share/zsh/vendor-completions/_cadre',
  ]);
  expect(fs.statSync(path.join(root, 'data/usr/bin/cadre')).mode & 0o777).toBe(0o755);
  const page = fs.readFileSync(path.join(root, 'data/usr/share/man/man1/cadre.1.gz'));
  expect(gunzipSync(page).toString()).toBe('dist/man/man1/cadre.1');
  const { mtimeMs } = fs.statSync(path.join(root, 'data/usr/bin'));
  expect(mtimeMs).toBe(options.seconds * 1000);
});

test('The control file of the .deb names the architecture and what cadre needs, and md5sums fits the files.', () => {
  using place = tempDirectory();
  const root = unpack(place.path, packageOf(place.path));
  const control = fs.readFileSync(path.join(root, 'control/control'), 'utf8');
  expect(control).toMatch(/^Package: cadre\nVersion: 0\.1\.0\nArchitecture: amd64\n/);
  expect(control).toMatch(/^Depends: .*util-linux$/m);
  expect(control).toMatch(/^Recommends: git$/m);
  const sums = path.join(root, 'control/md5sums');
  const checked = execFileSync('md5sum', ['--check', '--quiet', sums], {
    cwd: path.join(root, 'data'),
    encoding: 'utf8',
  });
  expect(checked).toBe('');
  expect(fs.readFileSync(sums, 'utf8').trim().split('\n')).toHaveLength(9);
});

test('The .deb has the same bytes for the same files, and a pre-release sorts before its release.', () => {
  using place = tempDirectory();
  const first = packageOf(place.path);
  fs.utimesSync(path.join(place.path, 'tree/out/cadre'), 1, 2);
  expect(packageOf(place.path).equals(first)).toBe(true);
  expect(debName({ version: '1.0.0-rc.1', architecture: 'arm64' })).toBe(
    'cadre_1.0.0~rc.1_arm64.deb',
  );
});

test.skipIf(findProgram('dpkg-deb', process.env.PATH) === null)(
  'The program dpkg-deb reads the fields of the .deb, and unpacks it.',
  () => {
    using place = tempDirectory();
    const file = path.join(place.path, debName(options));
    fs.writeFileSync(file, packageOf(place.path));
    const field = (name: string) =>
      execFileSync('dpkg-deb', ['--field', file, name], { encoding: 'utf8' }).trim();
    expect([field('Package'), field('Version'), field('Architecture')]).toEqual([
      'cadre',
      '0.1.0',
      'amd64',
    ]);
    const to = path.join(place.path, 'unpacked');
    execFileSync('dpkg-deb', ['--extract', file, to]);
    const program = path.join(to, 'usr/bin/cadre');
    expect(execFileSync(program, { encoding: 'utf8' })).toBe('0.1.0\n');
  },
);

function packageOf(place: string): Buffer {
  const tree = builtTree(path.join(place, 'tree'));
  return debPackage(layout(tree, path.join(tree, 'out/cadre')), options);
}

/** Unpacks the two tar files of a .deb to `control` and `data` below the returned directory, without dpkg. */
function unpack(place: string, deb: Buffer): string {
  const root = path.join(place, 'root');
  const members = membersOf(deb);
  expect([...members.keys()]).toEqual(['debian-binary', 'control.tar.gz', 'data.tar.gz']);
  expect(members.get('debian-binary')?.toString()).toBe('2.0\n');
  for (const part of ['control', 'data']) {
    fs.mkdirSync(path.join(root, part), { recursive: true });
    const input = members.get(`${part}.tar.gz`);
    execFileSync('tar', ['-xz', '-C', path.join(root, part)], { input });
  }
  return root;
}

/** The files of an ar file, in its order. */
function membersOf(bytes: Buffer): Map<string, Buffer> {
  expect(bytes.subarray(0, 8).toString()).toBe('!<arch>\n');
  const members = new Map<string, Buffer>();
  for (let at = 8; at < bytes.length;) {
    const line = bytes.subarray(at, at + 60).toString('latin1');
    const size = Number(line.slice(48, 58));
    members.set(line.slice(0, 16).trim(), bytes.subarray(at + 60, at + 60 + size));
    at += 60 + size + (size % 2);
  }
  return members;
}
