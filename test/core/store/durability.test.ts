import { ANCHOR_FILE } from '../../../src/core/store/anchor.ts';
import { expect, test } from 'vitest';
import {
  copyStore,
  DATABASE_FILE,
  loopTurns,
  openStore,
  settlesByItself,
  testDisk,
  WAL_FILE,
  freshStore,
  storeOnTestDisk,
} from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';

test('A transaction is acknowledged and announced without a sync, in the next turn of the event loop.', async () => {
  const { store, disk } = await storeOnTestDisk({ durability: 'normal' });
  disk.journal.length = 0;
  const announced: unknown[] = [];
  store.db.onDurable((items) => void announced.push(...items));
  const answers = ['a', 'b', 'c'].map((id) => store.db.transact((tx) => store.write(tx, id).seq));
  const read = store.db.read((rx) => store.notes.get(rx, 'c')?.id);
  await loopTurns(1);
  expect(announced).toHaveLength(3);
  expect(store.db.durableSeq).toBe(3);
  expect(await Promise.all([...answers, read])).toEqual([1, 2, 3, 'c']);
  expect(disk.journal.filter((line) => line.includes('sync'))).toEqual([]);
  expect(store.passed.filter((name) => name === 'commit.after')).toHaveLength(1);
});

test('Acknowledged rows survive a kill of the process.', async () => {
  await using directory = tempDirectory();
  await using copy = tempDirectory('copy');
  await using store = await openStore(directory.path, { durability: 'normal' });
  await store.db.transact((tx) => store.write(tx, 'a'));
  copyStore(directory.path, copy.path);
  await using reopened = await openStore(copy.path, { durability: 'normal' });
  expect(reopened.db.peek((rx) => reopened.notes.get(rx, 'a'))?.id).toBe('a');
  expect(reopened.db.durableSeq).toBe(1);
});

test('A checkpoint still syncs the log first, and the database before the log restarts.', async () => {
  const { store, disk } = await storeOnTestDisk({
    durability: 'normal',
    checkpointBytes: 1,
  });
  disk.journal.length = 0;
  using held = disk.holdSyncs(DATABASE_FILE);
  await store.db.transact((tx) => store.write(tx, 'a'));
  const synced = await held.next();
  const order = disk.journal.filter((line, i) => line !== disk.journal[i - 1]);
  expect(order).toEqual([
    `write ${WAL_FILE}`,
    `write ${ANCHOR_FILE}`,
    `fsync ${WAL_FILE}`,
    `write ${DATABASE_FILE}`,
    `sync ${DATABASE_FILE}`,
  ]);
  const later = store.db.transact((tx) => store.write(tx, 'b').seq);
  expect(await settlesByItself(later)).toBe(false);
  synced(null);
  expect(await later).toBe(2);
});

/** Makes a store with an empty log, as a clean stop leaves it. */
async function makeStore(directory: string): Promise<void> {
  await using _store = await openStore(directory);
}

test('With durability "full", syncs run off the main thread, and never with fsync under a load with pauses.', async () => {
  const { store, disk } = await storeOnTestDisk({
    // More than the opening writes, which may cause a checkpoint without a pause.
    checkpointBytes: 512 * 1024,
  });
  for (let i = 0; i < 120; i++) {
    await store.db.transact((tx) => store.write(tx, `n${i}`, 'x'.repeat(1000)));
    disk.journal.push('answered');
  }
  expect(store.db.checkpoints).toBeGreaterThan(2);
  const restarts = store.db.checkpoints + 1;
  // SQLite syncs the header of each restarted log, and the opening of the store syncs once.
  expect(disk.count(`fsync ${WAL_FILE}`)).toBeLessThanOrEqual(restarts + 1);
  expect(disk.count(`fsync ${DATABASE_FILE}`)).toBeLessThanOrEqual(2);
});

test('With durability "full", a checkpoint syncs the log first, and the database before the log restarts.', async () => {
  await using directory = tempDirectory();
  await makeStore(directory.path);
  const disk = testDisk();
  // Two transactions exceed this limit, but not twice the limit.
  await using store = await openStore(directory.path, { fs: disk.fs, checkpointBytes: 60_000 });
  // The first transaction in a log writes its header.
  await store.db.transact((tx) => store.write(tx, 'first'));
  disk.journal.length = 0;
  using held = disk.holdSyncs(DATABASE_FILE);
  await store.db.transact((tx) => store.write(tx, 'a', 'x'.repeat(10_000)));
  await held.next();
  const order = disk.journal.filter((line, i) => line !== disk.journal[i - 1]);
  expect(order).toEqual([
    `write ${WAL_FILE}`,
    `sync ${WAL_FILE}`,
    `synced ${WAL_FILE}`,
    `write ${ANCHOR_FILE}`,
    `write ${DATABASE_FILE}`,
    `sync ${DATABASE_FILE}`,
  ]);
});

test('Skipped numbers are never used, not even after a restart.', async () => {
  await using directory = tempDirectory();
  {
    await using store = await openStore(directory.path);
    await store.db.transact((tx) => store.write(tx, 'a'));
    const after = await store.db.transact((tx) => {
      tx.skipSeqs(2 ** 20);
      return store.write(tx, 'b').seq;
    });
    expect(after).toBe(2 ** 20 + 2);
    await store.db.transact((tx) => tx.skipSeqs(10));
    expect(store.db.durableSeq).toBe(2 ** 20 + 12);
  }
  await using store = await openStore(directory.path);
  expect(await store.db.transact((tx) => store.write(tx, 'c').seq)).toBe(2 ** 20 + 13);
});

test('A failed transaction releases the numbers that it has skipped.', async () => {
  const { store } = await freshStore();
  const failing = store.db.transact((tx) => {
    tx.skipSeqs(1000);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await store.db.transact((tx) => store.write(tx, 'a').seq)).toBe(1);
});

test('Numbers can only be skipped during a transaction.', async () => {
  const { store } = await freshStore();
  const ended = await store.db.transact((tx) => tx);
  expect(() => ended.skipSeqs(1)).toThrow('after their transaction ended');
});

test('Skipped numbers may exceed 32 bits.', async () => {
  await using directory = tempDirectory();
  {
    await using store = await openStore(directory.path);
    await store.db.transact((tx) => tx.skipSeqs(2 ** 40));
    expect(await store.db.transact((tx) => store.write(tx, 'a').seq)).toBe(2 ** 40 + 1);
  }
  await using store = await openStore(directory.path);
  expect(store.entries().map(({ seq }) => seq)).toEqual([2 ** 40 + 1]);
  expect(await store.db.transact((tx) => store.write(tx, 'b').seq)).toBe(2 ** 40 + 2);
});
