import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { archivesAddress } from '../../scripts/packages/recipes.ts';
import { findProgram } from '../../src/core/lib/find-program.ts';
import { builtTree, writeRelease } from '../support/built-tree.ts';
import { testDirectory } from '../support/temp.ts';

const ADDRESS = 'https://example.org/cadre/v0.1.0';

test('The Homebrew formula has the address and the checksum of the archive of each machine.', () => {
  const release = writeRelease(builtTree(testDirectory()), '0.1.0', ADDRESS);
  const formula = fs.readFileSync(path.join(release, 'cadre.rb'), 'utf8');
  const sums = sumsIn(release);
  for (const target of ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64']) {
    const name = `cadre-0.1.0-${target}.tar.gz`;
    expect(formula).toContain(`url "${ADDRESS}/${name}"\n      sha256 "${sums.get(name)}"\n`);
  }
  expect(formula).toMatch(/on_linux do\n {4}depends_on "util-linux"\n/);
  if (findProgram('ruby', process.env.PATH) !== null)
    expect(execFileSync('ruby', ['-c'], { input: formula, encoding: 'utf8' })).toMatch(/OK/);
});

test('The Dockerfile downloads the .deb of the machine from the address, and checks its checksum.', () => {
  const release = writeRelease(builtTree(testDirectory()), '0.1.0', ADDRESS);
  const recipe = fs.readFileSync(path.join(release, 'Dockerfile'), 'utf8');
  const sums = sumsIn(release);
  expect(recipe).toContain(`ARG ARCHIVES=${ADDRESS}\n`);
  for (const machine of ['amd64', 'arm64'])
    expect(recipe).toContain(`${machine}) digest=${sums.get(`cadre_0.1.0_${machine}.deb`)} ;;`);
  const [, script = ''] = /^RUN ((?:.*\\\n)*.*)$/m.exec(recipe) ?? [];
  expect(script).toContain('"$ARCHIVES/cadre_0.1.0_$machine.deb"');
  expect(spawnSync('sh', ['-n'], { input: script, encoding: 'utf8' }).stderr).toBe('');
});

test('SHA256SUMS lists every other file of a release.', () => {
  const release = writeRelease(builtTree(testDirectory()), '0.1.0', ADDRESS);
  const names = fs.readdirSync(release).filter((name) => name !== 'SHA256SUMS');
  expect([...sumsIn(release).keys()]).toEqual(names.toSorted());
  expect(names).toEqual(expect.arrayContaining(['install.sh', 'cadre.rb', 'Dockerfile']));
});

test('Without the address of the archives, a release has no recipe that would need it.', () => {
  const release = writeRelease(builtTree(testDirectory()));
  const names = fs.readdirSync(release);
  expect(names).not.toContain('cadre.rb');
  expect(names).not.toContain('Dockerfile');
  const script = fs.readFileSync(path.join(release, 'install.sh'), 'utf8');
  expect(script).toMatch(/^default_archives=$/m);
});

test('An address of the archives that shells or Ruby would read as their own is refused.', () => {
  expect(archivesAddress('http://127.0.0.1:8000/')).toBe('http://127.0.0.1:8000');
  for (const wrong of [
    'example.org',
    'ftp://example.org/a',
    'https://example.org/$(id)',
    'https://example.org/#{1}',
    "https://example.org/a'b",
    'https://example.org/a b',
  ])
    expect(() => archivesAddress(wrong)).toThrow(/invalid address of the archives/);
});

test('make dist refuses a wrong address of the archives before it builds anything.', () => {
  const args = ['scripts/dist.mjs', '--archives', 'example.org'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect([status, stderr]).toEqual([
    1,
    'dist: invalid address of the archives "example.org": expected https://HOST/PATH or http://HOST/PATH\n',
  ]);
});

function sumsIn(release: string): Map<string, string> {
  const lines = fs.readFileSync(path.join(release, 'SHA256SUMS'), 'utf8').trim().split('\n');
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}
