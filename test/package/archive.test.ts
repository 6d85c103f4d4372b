import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { compileSidecar } from '../../scripts/code-cache.mjs';
import { archive } from '../../scripts/tar.ts';
import { selfCommand } from '../../src/core/lib/self.ts';
import { tempDirectory, testDirectory } from '../support/temp.ts';

const dist = path.dirname(selfCommand().args.at(-1) ?? '');

test('An archive of the same files has the same bytes, in any order and with any file times.', () => {
  const files = filesIn(testDirectory());
  const first = archive('cadre-1', files, 1_795_312_000);
  for (const { from } of files) fs.utimesSync(from, 1, 2);
  expect(digest(archive('cadre-1', files.toReversed(), 1_795_312_000))).toBe(digest(first));
});

test('The program tar unpacks an archive with the given names, contents, modes and times.', () => {
  using place = tempDirectory();
  const file = path.join(place.path, 'a.tar.gz');
  fs.writeFileSync(file, archive('cadre-1', filesIn(place.path), 1_795_312_000));
  execFileSync('tar', ['-xzf', file, '-C', place.path]);
  const unpacked = path.join(place.path, 'cadre-1/bin/program');
  expect(fs.readFileSync(unpacked, 'utf8')).toBe('x'.repeat(1000));
  const { mode, mtimeMs } = fs.statSync(unpacked);
  expect([mode & 0o777, mtimeMs]).toEqual([0o755, 1_795_312_000_000]);
  expect(fs.readFileSync(path.join(place.path, 'cadre-1/empty'), 'utf8')).toBe('');
});

test('The code that is compiled for a bundle is the same in another directory and at another time.', async () => {
  await using place = tempDirectory();
  const compiled = fs.readdirSync(dist).find((name) => /^sidecar\..*compiled$/.test(name)) ?? '';
  for (const name of ['cadre.cjs', 'sidecar.cjs', 'fleet.cjs', 'jq.cjs'])
    fs.copyFileSync(path.join(dist, name), path.join(place.path, name));
  await compileSidecar(place.path);
  const again = fs.readFileSync(path.join(place.path, compiled));
  expect(digest(again)).toBe(digest(fs.readFileSync(path.join(dist, compiled))));
});

function filesIn(place: string) {
  fs.writeFileSync(path.join(place, 'program'), 'x'.repeat(1000));
  fs.writeFileSync(path.join(place, 'nothing'), '');
  return [
    { from: path.join(place, 'program'), to: 'bin/program', mode: 0o755 },
    { from: path.join(place, 'nothing'), to: 'empty', mode: 0o644 },
  ];
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
