import { ANCHOR_FILE } from '../../../src/core/store/anchor.ts';
import nodeFs from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/api/errors.ts';
import type { AppendedEntry } from '../../../src/core/events/log.ts';
import {
  DATABASE_FILE,
  copyStore,
  integrity,
  loopTurns,
  note,
  openStore,
  settlesByItself,
  testDisk,
  eventDraft,
  type TestStore,
  WAL_FILE,
  freshStore,
  storeOnTestDisk,
} from '../../support/store.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

test('A transaction is answered after its rows are synced, never before.', async () => {
  const { store, disk } = await storeOnTestDisk();
  using held = disk.holdSyncs(WAL_FILE);
  store.db.onDurable(() => disk.journal.push('announced'));
  disk.journal.length = 0;

  const answer = store.db.transact((tx) => store.write(tx, 'a').seq);
  void answer.then(() => disk.journal.push('answered'));
  const synced = await held.next();
  expect(await settlesByItself(answer)).toBe(false);
  expect(store.db.durableSeq).toBe(0);
  synced(null);

  expect(await answer).toBe(1);
  expect(store.db.durableSeq).toBe(1);
  const order = disk.journal.filter((line) => !line.startsWith('write'));
  expect(order).toEqual([`sync ${WAL_FILE}`, `synced ${WAL_FILE}`, 'announced', 'answered']);
  expect(disk.journal.lastIndexOf(`write ${WAL_FILE}`)).toBeLessThan(
    disk.journal.indexOf(`sync ${WAL_FILE}`),
  );
});

test('A copy of the files at the time of the answer has the rows.', async () => {
  await using directory = tempDirectory();
  await using copy = tempDirectory('copy');
  await using store = await openStore(directory.path);
  await store.db.transact((tx) => store.write(tx, 'a'));
  copyStore(directory.path, copy.path);
  await using reopened = await openStore(copy.path);
  expect(reopened.db.peek((rx) => reopened.notes.get(rx, 'a'))).toEqual(note('a'));
  expect(reopened.entries().map(({ seq }) => seq)).toEqual([1]);
});

test('Each transaction gets the result of its own function, in the order of the calls.', async () => {
  const { store } = await freshStore();
  const answered: number[] = [];
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      answered.push(await store.db.transact(() => i));
    }),
  );
  expect(answered).toEqual(Array.from({ length: 20 }, (_, i) => i));
});

test('A group that commits during a sync waits for the next sync.', async () => {
  const { store, disk } = await storeOnTestDisk();
  using held = disk.holdSyncs(WAL_FILE);
  const first = store.db.transact((tx) => store.write(tx, 'a'));
  const firstSync = await held.next();
  const second = store.db.transact((tx) => store.write(tx, 'b'));
  await loopTurns(3);
  const third = store.db.transact((tx) => store.write(tx, 'c'));
  await loopTurns(3);
  expect(store.passed.filter((name) => name === 'commit.after')).toHaveLength(3);

  firstSync(null);
  await first;
  expect(await settlesByItself(second)).toBe(false);
  expect(await settlesByItself(third)).toBe(false);
  expect(store.db.durableSeq).toBe(1);
  (await held.next())(null);
  await Promise.all([second, third]);
  expect(held.asked()).toBe(2);
});

test('A read of rows that are not on disk yet is answered once they are.', async () => {
  const { store, disk } = await storeOnTestDisk();
  using held = disk.holdSyncs(WAL_FILE);
  const write = store.db.transact((tx) => store.write(tx, 'a'));
  const whileOpen = store.db.read((rx) => store.notes.get(rx, 'a')?.id);
  const synced = await held.next();
  const whileUnsynced = store.db.read((rx) => store.notes.get(rx, 'a')?.id);
  expect(await settlesByItself(whileOpen)).toBe(false);
  expect(await settlesByItself(whileUnsynced)).toBe(false);
  synced(null);
  expect(await Promise.all([whileOpen, whileUnsynced])).toEqual(['a', 'a']);
  await write;
});

test('A read waits for the newest of the groups that it saw.', async () => {
  const { store, disk } = await storeOnTestDisk();
  using held = disk.holdSyncs(WAL_FILE);
  const first = store.db.transact((tx) => store.write(tx, 'a'));
  const firstSync = await held.next();
  const second = store.db.transact((tx) => store.write(tx, 'b'));
  const read = store.db.read((rx) => [store.notes.get(rx, 'a')?.id, store.notes.get(rx, 'b')?.id]);
  firstSync(null);
  await first;
  expect(await settlesByItself(read)).toBe(false);
  (await held.next())(null);
  expect(await read).toEqual(['a', 'b']);
  await second;
});

test('A read is answered at once if everything is on disk, and syncs nothing.', async () => {
  const { store, disk } = await storeOnTestDisk();
  await store.db.transact((tx) => store.write(tx, 'a'));
  const syncs = disk.count(`sync ${WAL_FILE}`);
  expect(await store.db.read((rx) => store.notes.get(rx, 'a')?.id)).toBe('a');
  expect(disk.count(`sync ${WAL_FILE}`)).toBe(syncs);
});

test('A read that throws also waits for the rows that it saw.', async () => {
  const { store, disk } = await storeOnTestDisk();
  using held = disk.holdSyncs(WAL_FILE);
  const write = store.db.transact((tx) => store.write(tx, 'a'));
  const refused = store.db.read((rx) => {
    throw new AppError('conflict', `there is a note ${store.notes.get(rx, 'a')?.id}`);
  });
  const outcome = refused.catch((error: unknown) => (error as Error).message);
  const synced = await held.next();
  expect(await settlesByItself(refused)).toBe(false);
  synced(null);
  expect(await outcome).toBe('there is a note a');
  await write;
});

test('A read cannot start a transaction.', async () => {
  const { store } = await freshStore();
  await expect(store.db.read(() => store.db.transact(() => 1))).rejects.toThrow(
    'cannot start a transaction inside a transaction',
  );
});

test('A failed transaction takes back only its own rows, numbers and announcements.', async () => {
  const { store } = await freshStore();
  const announced = collectAnnounced(store);
  const outcomes = await Promise.allSettled([
    store.db.transact((tx) => store.write(tx, 'a').seq),
    store.db.transact((tx) => {
      store.write(tx, 'b');
      store.write(tx, 'c');
      throw new AppError('conflict', 'no');
    }),
    store.db.transact((tx) => store.write(tx, 'd').seq),
  ]);
  expect(outcomes).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: new AppError('conflict', 'no') },
    { status: 'fulfilled', value: 2 },
  ]);
  expect(idsOf(store)).toEqual(['a', 'd']);
  expect(announced).toEqual([1, 2]);
  expect(store.entries().map(({ seq }) => seq)).toEqual([1, 2]);
});

test('A transaction that SQLite refuses takes back all its rows.', async () => {
  const { store } = await freshStore();
  await store.db.transact((tx) => store.write(tx, 'a'));
  const outcomes = await Promise.allSettled([
    store.db.transact((tx) => store.write(tx, 'b')),
    store.db.transact((tx) => {
      store.write(tx, 'c');
      store.write(tx, 'a');
    }),
    store.db.transact((tx) => store.write(tx, 'd')),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(idsOf(store)).toEqual(['a', 'b', 'd']);
  expect(store.db.durableSeq).toBe(3);
});

test('A refusal is reported only after the rows that it may have seen are on disk.', async () => {
  const { store, disk } = await storeOnTestDisk();
  using held = disk.holdSyncs(WAL_FILE);
  const write = store.db.transact((tx) => store.write(tx, 'a'));
  const sameGroup = refuseBecauseOf(store, 'a');
  const firstSync = await held.next();
  const nextGroup = refuseBecauseOf(store, 'a');
  await loopTurns(3);
  expect(await settlesByItself(sameGroup)).toBe(false);
  expect(await settlesByItself(nextGroup)).toBe(false);
  firstSync(null);
  await write;
  (await held.next())(null);
  expect(await sameGroup).toBe('refused: a is there');
  expect(await nextGroup).toBe('refused: a is there');
});

test('A transaction with an asynchronous function is refused and takes back its rows.', async () => {
  const { store } = await freshStore();
  const refused = store.db.transact(async (tx) => {
    store.write(tx, 'a');
    return 1;
  });
  await expect(refused).rejects.toThrow('every transaction must be synchronous');
  expect(idsOf(store)).toEqual([]);
  expect(await store.db.transact((tx) => store.write(tx, 'b').seq)).toBe(1);
});

test('A nested transaction throws, and the outer one continues if it catches the error.', async () => {
  const { store } = await freshStore();
  const inner = () => store.db.transact((tx) => store.write(tx, 'inner'));
  const answer = store.db.transact((tx) => {
    expect(inner).toThrow('cannot start a transaction inside a transaction');
    return store.write(tx, 'outer').seq;
  });
  expect(await answer).toBe(1);
  await expect(
    store.db.transact((tx) => {
      store.write(tx, 'lost');
      return inner();
    }),
  ).rejects.toThrow('cannot start a transaction inside a transaction');
  expect(idsOf(store)).toEqual(['outer']);
});

test('Failed transactions of any kind leave no trace in the store.', async () => {
  const { store } = await freshStore();
  const announced = collectAnnounced(store);
  const expectedIds: string[] = [];
  let expectedSeq = 0;
  let names = 0;
  const step = fc.record({
    rows: fc.integer({ min: 0, max: 3 }),
    events: fc.integer({ min: 0, max: 3 }),
    end: fc.constantFrom('return', 'return', 'throw', 'constraint', 'promise', 'nested'),
  });
  const group = fc.array(step, { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(fc.array(group, { maxLength: 5 }), async (groups) => {
      for (const steps of groups) {
        const outcomes = await Promise.allSettled(
          steps.map(({ rows, events, end }) => {
            const ids = Array.from({ length: rows }, () => `n${++names}`);
            const before = expectedSeq;
            if (end === 'return') {
              expectedIds.push(...ids);
              expectedSeq += events;
            }
            return store.db.transact((tx): unknown => {
              for (const id of ids) store.notes.insert(tx, note(id));
              const seqs = Array.from(
                { length: events },
                () => store.log.append(tx, eventDraft('x')).seq,
              );
              if (end === 'throw') throw new Error('no');
              if (end === 'constraint')
                store.db.prepare('INSERT INTO sequence VALUES (1, 0)').run(tx);
              if (end === 'promise') return Promise.resolve();
              if (end === 'nested') return store.db.transact(() => undefined);
              expect(seqs).toEqual(seqs.map((_, i) => before + 1 + i));
              return seqs;
            });
          }),
        );
        const succeeded = outcomes.map(({ status }) => status === 'fulfilled');
        expect(succeeded).toEqual(steps.map(({ end }) => end === 'return'));
      }
      expect(idsOf(store)).toEqual(expectedIds);
      expect(store.db.durableSeq).toBe(expectedSeq);
      expect(announced).toEqual(Array.from({ length: expectedSeq }, (_, i) => i + 1));
    }),
    { numRuns: 60 },
  );
  expect(store.entries().map(({ seq }) => seq)).toEqual(announced);
  expect(integrity(store.db)).toBe('ok');
});

test('Announcements are delivered once, in order, when they are on disk and the seq is durable.', async () => {
  const { store, disk } = await storeOnTestDisk();
  const delivered: { items: unknown[]; durableSeq: number }[] = [];
  store.db.onDurable((items) => {
    delivered.push({ items: [...items], durableSeq: store.db.durableSeq });
  });
  using held = disk.holdSyncs(WAL_FILE);
  const announce = (id: string) =>
    store.db.transact((tx) => {
      tx.nextSeq();
      tx.announce(id);
    });
  const first = [announce('a'), announce('b')];
  const firstSync = await held.next();
  const second = [announce('c')];
  await loopTurns(3);
  expect(delivered).toEqual([]);
  firstSync(null);
  await Promise.all(first);
  expect(delivered).toEqual([{ items: ['a', 'b'], durableSeq: 2 }]);
  (await held.next())(null);
  await Promise.all(second);
  await store.db.transact(() => undefined);
  expect(delivered).toEqual([
    { items: ['a', 'b'], durableSeq: 2 },
    { items: ['c'], durableSeq: 3 },
  ]);
});

test('Announcements reach every listener.', async () => {
  const { store } = await freshStore();
  const one = collectAnnounced(store);
  const other = collectAnnounced(store);
  await store.db.transact((tx) => store.write(tx, 'a'));
  await store.db.transact((tx) => store.write(tx, 'b'));
  expect([one, other]).toEqual([
    [1, 2],
    [1, 2],
  ]);
});

test('Announcements and numbers are refused after their transaction.', async () => {
  const { store } = await freshStore();
  const ended = await store.db.transact((tx) => tx);
  expect(() => ended.nextSeq()).toThrow('after their transaction ended');
  expect(() => ended.announce('x')).toThrow('after their transaction ended');
  expect(() => store.log.append(ended, eventDraft('x'))).toThrow('after their transaction ended');
});

test('All transactions of one turn of the event loop share one COMMIT and one sync.', async () => {
  const { store, disk } = await storeOnTestDisk();
  disk.journal.length = 0;
  await Promise.all(
    Array.from({ length: 200 }, (_, i) => store.db.transact((tx) => store.write(tx, `n${i}`))),
  );
  expect(store.passed.filter((name) => name === 'commit.after')).toHaveLength(1);
  expect(disk.count(`sync ${WAL_FILE}`)).toBe(1);
  expect(store.db.stats.groupSize.max).toBe(200);
  expect(store.db.stats.groupSize.count).toBe(1);
});

test('A group writes nothing before its COMMIT.', async () => {
  const { store, disk } = await storeOnTestDisk();
  disk.journal.length = 0;
  const answers = Array.from({ length: 300 }, (_, i) =>
    store.db.transact((tx) => store.write(tx, `n${i}`, 'x'.repeat(20_000))),
  );
  expect(disk.journal).toEqual([]);
  await Promise.all(answers);
  expect(disk.count(`write ${WAL_FILE}`)).toBeGreaterThan(1000);
});

test('A group without changes is answered without a sync if all earlier ones are on disk.', async () => {
  const { store, disk } = await storeOnTestDisk();
  await store.db.transact((tx) => store.write(tx, 'a'));
  using held = disk.holdSyncs(WAL_FILE);
  expect(await store.db.transact((tx) => store.notes.get(tx, 'a')?.id)).toBe('a');
  expect(await refuseBecauseOf(store, 'a')).toBe('refused: a is there');
  expect(held.asked()).toBe(0);
});

test('A group without changes waits for earlier groups, whose rows it may have seen.', async () => {
  const { store, disk } = await storeOnTestDisk();
  using held = disk.holdSyncs(WAL_FILE);
  const write = store.db.transact((tx) => store.write(tx, 'a'));
  const synced = await held.next();
  const look = store.db.transact((tx) => store.notes.get(tx, 'a')?.id);
  expect(await settlesByItself(look)).toBe(false);
  synced(null);
  await write;
  held[Symbol.dispose]();
  expect(await look).toBe('a');
});

test('A checkpoint delays only COMMIT until the database file is synced.', async () => {
  const { store, disk } = await storeOnTestDisk({ checkpointBytes: 1 });
  using held = disk.holdSyncs(DATABASE_FILE);
  await store.db.transact((tx) => store.write(tx, 'a'));
  const synced = await held.next();
  const writes = disk.count(`write ${WAL_FILE}`);
  const commits = store.passed.length;

  const later = [store.db.transact((tx) => store.write(tx, 'b').seq)];
  expect(store.db.peek((rx) => store.notes.get(rx, 'b'))?.id).toBe('b');
  await loopTurns(5);
  later.push(store.db.transact((tx) => store.write(tx, 'c').seq));
  expect(await settlesByItself(Promise.race(later))).toBe(false);
  expect(disk.count(`write ${WAL_FILE}`)).toBe(writes);
  expect(store.passed).toHaveLength(commits);

  synced(null);
  held[Symbol.dispose]();
  expect(await Promise.all(later)).toEqual([2, 3]);
  expect(store.passed.filter((name) => name === 'commit.after')).toHaveLength(2);
});

test('After a checkpoint, the write-ahead log restarts at its beginning.', async () => {
  await using directory = tempDirectory();
  // The creation of a store makes the log file long, and the file never gets shorter.
  await (await openStore(directory.path))[Symbol.asyncDispose]();
  await using store = await openStore(directory.path, { checkpointBytes: 64 * 1024 });
  for (let i = 0; i < 100; i++)
    await store.db.transact((tx) => store.write(tx, `n${i}`, 'x'.repeat(3000)));
  expect(store.db.checkpoints).toBeGreaterThan(5);
  const { size } = nodeFs.statSync(path.join(directory.path, WAL_FILE));
  expect(size).toBeLessThan(256 * 1024);
  expect(idsOf(store)).toHaveLength(100);
});

test('Checkpoints also run under a load without pauses.', async () => {
  const { store } = await freshStore({
    fs: testDisk().fs,
    checkpointBytes: 64 * 1024,
  });
  const answers: Promise<unknown>[] = [];
  for (let i = 0; i < 400; i++) {
    // A group is open in each turn of the event loop.
    answers.push(store.db.transact((tx) => store.write(tx, `n${i}`, 'x'.repeat(1000))));
    await loopTurns(1);
  }
  const { walBytes } = store.db;
  await Promise.all(answers);
  expect(walBytes, 'bytes of the log at the end of the load').toBeLessThan(1024 * 1024);
});

test('The sequence continues after the last number when the store is opened again.', async () => {
  await using directory = tempDirectory();
  const seqs: number[] = [];
  for (let run = 0; run < 4; run++) {
    await using store = await openStore(directory.path);
    seqs.push(await store.db.transact((tx) => store.write(tx, `a${run}`).seq));
    seqs.push(await store.db.transact((tx) => store.write(tx, `b${run}`).seq));
  }
  expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test('After a kill, the sequence continues after every number that was delivered.', async () => {
  await using directory = tempDirectory();
  let last = 0;
  let from = directory.path;
  for (let run = 0; run < 5; run++) {
    const disk = testDisk();
    const store = await openStore(from, { fs: disk.fs });
    const seen = collectAnnounced(store);
    await store.db.transact((tx) => store.write(tx, `a${run}`));
    await store.db.transact((tx) => store.write(tx, `b${run}`));
    expect(Math.min(...seen)).toBeGreaterThan(last);
    using held = disk.holdSyncs(WAL_FILE);
    const unanswered = store.db.transact((tx) => store.write(tx, `c${run}`));
    await held.next();
    const uncommitted = store.db.transact((tx) => store.write(tx, `d${run}`));
    last = Math.max(...seen);
    const next = path.join(directory.path, `run${run}`);
    copyStore(from, next);
    void Promise.allSettled([unanswered, uncommitted]);
    from = next;
  }
  await using store = await openStore(from);
  expect(store.db.durableSeq).toBeGreaterThanOrEqual(last);
  const seqs = store.entries().map(({ seq }) => seq);
  expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
});

test('The sequence does not go back when the newest events are removed from the log.', async () => {
  await using directory = tempDirectory();
  {
    await using store = await openStore(directory.path);
    await store.db.transact((tx) => [store.write(tx, 'a'), store.write(tx, 'b')]);
    const remove = store.db.prepare('DELETE FROM events');
    await store.db.transact((tx) => remove.run(tx));
  }
  await using store = await openStore(directory.path);
  expect(store.db.durableSeq).toBe(2);
  expect(await store.db.transact((tx) => store.write(tx, 'c').seq)).toBe(3);
});

test('Closing answers the running transactions, and then leaves one file with everything.', async () => {
  await using directory = tempDirectory();
  const store = await openStore(directory.path);
  const first = store.db.transact((tx) => store.write(tx, 'a').seq);
  await loopTurns(1);
  const second = store.db.transact((tx) => store.write(tx, 'b').seq);
  const closed = store.db.close();
  expect(await Promise.all([first, second])).toEqual([1, 2]);
  await closed;
  await store.db.close();
  expect(nodeFs.readdirSync(directory.path)).toEqual([DATABASE_FILE, ANCHOR_FILE]);
  await using reopened = await openStore(directory.path);
  expect(idsOf(reopened)).toEqual(['a', 'b']);
});

test('Closing waits for the sync of a checkpoint.', async () => {
  await using directory = tempDirectory();
  const disk = testDisk();
  const store = await openStore(directory.path, { fs: disk.fs, checkpointBytes: 1 });
  using held = disk.holdSyncs(DATABASE_FILE);
  await store.db.transact((tx) => store.write(tx, 'a'));
  const synced = await held.next();
  const closed = store.db.close();
  expect(await settlesByItself(closed)).toBe(false);
  synced(null);
  await closed;
  expect(nodeFs.readdirSync(directory.path)).toEqual([DATABASE_FILE, ANCHOR_FILE]);
});

test('A transaction or a read after closing is refused with shutting_down.', async () => {
  const store = await openStore(testDirectory());
  await store.db.transact((tx) => store.write(tx, 'a'));
  const closed = store.db.close();
  const refusal = { name: 'AppError', code: 'shutting_down' };
  await expect(store.db.transact((tx) => store.write(tx, 'b'))).rejects.toMatchObject(refusal);
  await closed;
  await expect(store.db.transact((tx) => store.write(tx, 'b'))).rejects.toMatchObject(refusal);
  await expect(store.db.read((rx) => store.notes.get(rx, 'a'))).rejects.toMatchObject(refusal);
});

/** Collects the announced seqs in order. */
function collectAnnounced(store: TestStore): number[] {
  const seqs: number[] = [];
  store.db.onDurable((items) => {
    seqs.push(...(items as AppendedEntry[]).map(({ seq }) => seq));
  });
  return seqs;
}

/** Refuses a transaction because a note exists; resolves with the outcome. */
async function refuseBecauseOf(store: TestStore, id: string): Promise<string> {
  try {
    await store.db.transact(() => {
      if (store.db.peek((rx) => store.notes.get(rx, id)))
        throw new AppError('conflict', `${id} is there`);
    });
    return 'answered';
  } catch (error) {
    return `refused: ${(error as Error).message}`;
  }
}

function idsOf(store: TestStore): string[] {
  return store.db.peek((rx) => store.notes.where(rx, 'n > 0')).map(({ id }) => id);
}
