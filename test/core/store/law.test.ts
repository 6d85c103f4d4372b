import { expect, test } from 'vitest';
import type { Reader, Writer } from '../../../src/core/store/transaction.ts';
import { note, query, WAL_FILE, freshStore, storeOnTestDisk } from '../../support/store.ts';

/** A value that is neither a Writer nor a Reader, with a type assertion against the compiler. */
const nothing = undefined as unknown as Writer & Reader;

test('Rows are written only with the writer of a transaction: all else does not compile, and throws.', async () => {
  const { store } = await freshStore();
  const insert = store.db.prepare("INSERT INTO meta (key, value) VALUES ('k', 'v')");
  // @ts-expect-error A write without a writer.
  expect(() => insert.run()).toThrow('outside a transaction');
  // @ts-expect-error A reader is no writer.
  const inRead = store.db.read((rx) => store.notes.insert(rx, note('a')));
  await expect(inRead).rejects.toThrow('outside a transaction');
  expect(() => store.notes.insert(nothing, note('a'))).toThrow('outside a transaction');
  expect(query(store.db, "SELECT 1 FROM meta WHERE key = 'k'")).toEqual([]);
  expect(query(store.db, 'SELECT 1 FROM sessions')).toEqual([]);
});

test('A query that returns rows cannot write outside of a transaction.', async () => {
  const { store } = await freshStore();
  const sql = "INSERT INTO meta (key, value) VALUES ('k', 'v') RETURNING value";
  expect(() => query(store.db, sql)).toThrow('outside a transaction');
  const insert = store.db.prepare<[string]>(sql);
  expect(await store.db.transact((tx) => insert.get(tx)?.[0])).toBe('v');
});

test('Rows cannot be read without a reader.', async () => {
  const { store } = await freshStore();
  // @ts-expect-error A read without a reader.
  expect(() => store.notes.get('a')).toThrow('outside a call of read, peek or transact');
  expect(() => store.notes.get(nothing, 'a')).toThrow('outside a call of read, peek or transact');
});

test('A reader or writer cannot be used after its function has ended.', async () => {
  const { store } = await freshStore();
  const writer = await store.db.transact((tx) => tx);
  const reader = await store.db.read((rx) => rx);
  const peeker = store.db.peek((rx) => rx);
  expect(() => store.notes.insert(writer, note('a'))).toThrow('after their transaction ended');
  for (const ended of [writer, reader, peeker])
    expect(() => store.notes.get(ended, 'a')).toThrow('after their transaction ended');
  // Another transaction does not make an ended writer valid again.
  await store.db.transact(() => {
    expect(() => store.notes.insert(writer, note('a'))).toThrow('after their transaction ended');
  });
});

test('An effect runs once the transaction is on disk and before its caller continues.', async () => {
  const { store, disk } = await storeOnTestDisk();
  using held = disk.holdSyncs(WAL_FILE);
  const done: string[] = [];
  const stored = store.db
    .transact((tx) => {
      store.write(tx, 'a');
      tx.whenDurable(() => done.push('effect'));
      tx.whenLost(() => done.push('undone'));
    })
    .then(() => done.push('answered'));
  const synced = await held.next();
  expect(done).toEqual([]);
  synced(null);
  await stored;
  expect(done).toEqual(['effect', 'answered']);
});

test('A transaction that throws is undone at once in reverse order, without the rest of its group.', async () => {
  const { store } = await freshStore();
  const done: string[] = [];
  const beside = store.db.transact((tx) => {
    store.write(tx, 'a');
    tx.whenLost(() => done.push('beside undone'));
  });
  const refused = store.db.transact((tx) => {
    tx.whenDurable(() => done.push('effect'));
    tx.whenLost(() => done.push('first undone'));
    tx.whenLost(() => done.push('second undone'));
    throw new Error('no');
  });
  expect(done).toEqual(['second undone', 'first undone']);
  await expect(refused).rejects.toThrow('no');
  await beside;
  expect(done).toHaveLength(2);
});

test('A group that SQLite gives up is undone from the newest transaction to the oldest.', async () => {
  const { store, disk } = await storeOnTestDisk();
  const done: string[] = [];
  const lose = (id: string) =>
    store.db.transact((tx) => {
      store.write(tx, id);
      tx.whenDurable(() => done.push(`effect of ${id}`));
      tx.whenLost(() => done.push(`undone ${id}`));
    });
  const { onWrite } = disk;
  disk.onWrite = () => {
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  };
  const outcomes = await Promise.allSettled([lose('a'), lose('b')]);
  disk.onWrite = onWrite;
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(done).toEqual(['undone b', 'undone a']);
  await store.db.transact((tx) => store.write(tx, 'c'));
});

test('A failed effect of a stored transaction is reported, and the others run.', async () => {
  const { store } = await freshStore();
  const done: string[] = [];
  await store.db.transact((tx) => {
    tx.whenDurable(() => {
      throw new Error('cannot');
    });
    tx.whenDurable(() => done.push('effect'));
  });
  await store.db.transact((tx) => store.write(tx, 'next'));
  expect(done).toEqual(['effect']);
  expect(store.warnings.map(({ message }) => message)).toEqual([
    'the effect of a stored transaction failed',
  ]);
});

test('A failed undo of a lost transaction is reported, and the others run.', async () => {
  const { store } = await freshStore();
  const done: string[] = [];
  const refused = store.db.transact((tx) => {
    tx.whenLost(() => done.push('undone'));
    tx.whenLost(() => {
      throw new Error('cannot');
    });
    throw new Error('no');
  });
  await expect(refused).rejects.toThrow('no');
  expect(done).toEqual(['undone']);
  expect(store.warnings.map(({ message }) => message)).toEqual([
    'cannot undo a lost transaction in memory',
  ]);
});
