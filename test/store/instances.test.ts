import nodeFs from 'node:fs';
import { expect, test } from 'vitest';
import { readEpoch } from '../../src/store/migrate.ts';
import { DATABASE_FILE, integrity, openStore, testDisk, WAL_FILE } from '../support/store.ts';
import { tempDirectory } from '../support/temp.ts';

// sql.js gives its first instance again to whoever asks later.
test('Two stores of one process are two: each has the files of its own directory.', async () => {
  await using one = tempDirectory();
  await using other = tempDirectory();
  await using first = await openStore(one.path, { newEpoch: () => 'epoch_1' });
  await using second = await openStore(other.path, { newEpoch: () => 'epoch_2' });
  expect([readEpoch(first.db), readEpoch(second.db)]).toEqual(['epoch_1', 'epoch_2']);
  for (const { path } of [one, other]) {
    expect(nodeFs.readdirSync(path)).toContain(DATABASE_FILE);
  }
  await Promise.all([
    first.db.transact(() => first.write('a')),
    second.db.transact(() => [second.write('b'), second.write('c')]),
  ]);
  expect([first.db.durableSeq, second.db.durableSeq]).toEqual([1, 2]);
  expect(first.notes.get('b')).toBe(undefined);
});

test('A store that was abandoned, as in a crash, is not taken for the next one of its directory.', async () => {
  await using directory = tempDirectory();
  const abandoned = await openStore(directory.path);
  await abandoned.db.transact(() => abandoned.write('a'));
  const disk = testDisk();
  await using store = await openStore(directory.path, { fs: disk.fs });
  disk.journal.length = 0;
  expect(await store.db.transact(() => store.write('b').seq)).toBe(2);
  expect(disk.count(`sync ${WAL_FILE}`)).toBe(1);
  expect(store.db.walBytes).toBeGreaterThan(0);
  expect(store.notes.get('a')?.id).toBe('a');
  expect(integrity(store.db)).toBe('ok');
});
