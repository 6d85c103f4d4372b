import nodeFs from 'node:fs';
import nodePath from 'node:path';
import { expect, test } from 'vitest';
import { DATABASE_FILE, integrity, openStore, freshStore } from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';

// sql.js itself returns the same instance for every call.
test('Two stores of one process have separate files and rows.', async () => {
  await using one = tempDirectory();
  await using other = tempDirectory();
  await using first = await openStore(one.path, { newEpoch: () => 'epoch_1' });
  await using second = await openStore(other.path, { newEpoch: () => 'epoch_2' });
  expect([first.db.epoch, second.db.epoch]).toEqual(['epoch_1', 'epoch_2']);
  for (const { path } of [one, other]) {
    expect(nodeFs.readdirSync(path)).toContain(DATABASE_FILE);
  }
  await Promise.all([
    first.db.transact((tx) => first.write(tx, 'a')),
    second.db.transact((tx) => [second.write(tx, 'b'), second.write(tx, 'c')]),
  ]);
  expect([first.db.durableSeq, second.db.durableSeq]).toEqual([1, 2]);
  expect(first.db.peek((rx) => first.notes.get(rx, 'b'))).toBe(undefined);
});

test('A second store on an open directory is refused, and the first one keeps working.', async () => {
  const { store: first, directory } = await freshStore();
  await first.db.transact((tx) => first.write(tx, 'a'));
  // `rejects` would print the store if it opens, and vitest cannot print the histograms of a store.
  const refusal = await openStore(directory).then(
    () => 'opened',
    (error: unknown) => String(error),
  );
  expect(refusal).toMatch(/locked/);
  expect(await first.db.transact((tx) => first.write(tx, 'b').seq)).toBe(2);
  expect(integrity(first.db)).toBe('ok');
});

test('A store opens in a directory that is reached through a symbolic link.', async () => {
  await using directory = tempDirectory();
  const link = nodePath.join(directory.path, 'link');
  nodeFs.mkdirSync(nodePath.join(directory.path, 'data'));
  nodeFs.symlinkSync('data', link);
  {
    await using store = await openStore(link);
    await store.db.transact((tx) => store.write(tx, 'a'));
  }
  await using again = await openStore(nodePath.join(directory.path, 'data'));
  expect(again.db.durableSeq).toBe(1);
});
