import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { LogCursor } from '../../../src/frontends/cli/cursor-file.ts';
import { tempDirectory } from '../../support/temp.ts';

test('A link under the name of the file or its draft is replaced and never followed.', async () => {
  await using place = tempDirectory('cursor');
  const victim = path.join(place.path, 'victim');
  fs.writeFileSync(victim, 'precious');
  fs.symlinkSync(victim, path.join(place.path, '.cursor.part'));
  const file = path.join(place.path, 'cursor');
  const cursor = new LogCursor(file, null);
  cursor.start('epoch');
  // A link in place of the file is replaced, not followed.
  fs.rmSync(file);
  fs.symlinkSync(victim, file);
  cursor.moveToSeq(7);
  cursor.save();
  expect(fs.readFileSync(victim, 'utf8')).toBe('precious');
  expect(fs.lstatSync(file).isFile()).toBe(true);
  expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toMatchObject({ epoch: 'epoch', seq: 7 });
  expect(fs.readdirSync(place.path).toSorted()).toEqual(['.cursor.part', 'cursor', 'victim']);
});

test('A draft is removed if the cursor file cannot be replaced.', async () => {
  await using place = tempDirectory('cursor');
  const file = path.join(place.path, 'cursor');
  const cursor = new LogCursor(file, null);
  cursor.start('epoch');
  fs.rmSync(file);
  fs.mkdirSync(path.join(file, 'in the way'), { recursive: true });
  expect(() => cursor.save()).toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
  expect(fs.readdirSync(place.path)).toEqual(['cursor']);
});

test('Drafts of killed processes are removed, and other files stay.', async () => {
  await using place = tempDirectory('cursor');
  const file = path.join(place.path, 'cursor');
  const draft = (last: string) => `.cursor.00000000-0000-4000-8000-00000000000${last}.part`;
  const names = [draft('1'), draft('2'), '.cursor.part', '.other.part'];
  for (const name of names) fs.writeFileSync(path.join(place.path, name), '');
  for (const name of [draft('1'), '.cursor.part', '.other.part'])
    fs.utimesSync(path.join(place.path, name), 1, 1);
  new LogCursor(file, null).start('epoch');
  fs.utimesSync(file, 2, 2);
  expect(new LogCursor(file, null).start('epoch')).toBeNull();
  const left = fs.readdirSync(place.path).toSorted();
  expect(left).toEqual([...names.slice(1), 'cursor'].toSorted());
});
