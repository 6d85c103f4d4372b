import nodeFs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { StorageBudget } from '../../../src/server/maintenance/retention/budget.ts';
import {
  DATABASE_FILE,
  integrity,
  integrityOfCopy,
  isAcknowledged,
  loopTurns,
  note,
  openStore,
  settlesByItself,
  systemError,
  type TestDisk,
  testDisk,
  type TestStore,
  WAL_FILE,
  query,
  freshStore,
  storeOnTestDisk,
} from '../../support/store.ts';
import { testDirectory } from '../../support/temp.ts';

const MEMBERS = 50;
/** SQLite treats the first as a corrupt page, which keeps the open transaction, and the second as a failed read. */
const readErrors = ['EIO', 'EBADF'];

test.each([
  ['takes nothing of it', 0],
  ['takes a part of it first', 100],
])(
  'A group of fifty fails or succeeds as a whole, whichever write fills the disk, if the disk %s.',
  async (_how, partTaken) => {
    const { store, disk, directory } = await storeOnTestDisk();
    let failedAt = 0;
    for (let group = 0, done = false; !done; group++) {
      const durable = store.db.durableSeq;
      fillAfter(disk, group, 'ENOSPC', partTaken);
      const outcomes = await Promise.allSettled(writeGroup(store, group));
      disk.onWrite = takeAll;
      done = outcomes.every(({ status }) => status === 'fulfilled');
      expect(rowsOf(store, group)).toBe(done ? MEMBERS : 0);
      if (!done) {
        failedAt++;
        expect(outcomes.map(codeOf)).toEqual(Array(MEMBERS).fill('storage_full'));
        expect(store.db.durableSeq).toBe(durable);
        expect(store.entries()).toHaveLength(group);
      }
      await expectNextToBeOnDisk(store, disk, `after${group}`, done ? durable + MEMBERS : durable);
      expect(integrity(store.db)).toBe('ok');
    }
    // A group has two writes for each page of fifty rows and fifty events.
    expect(failedAt).toBeGreaterThan(20);
    expect(store.fatal).toEqual([]);
    expect(await integrityOfCopy(directory)).toBe('ok');
  },
);

test('A group also fails if the disk fills where its log restarts after a checkpoint.', async () => {
  const { store, disk, directory } = await storeOnTestDisk({ checkpointBytes: 1 });
  for (let k = 0; k < 6; k++) {
    await store.db.transact((tx) => store.write(tx, `before${k}`));
    fillAfter(disk, k, 'ENOSPC');
    const outcome = await Promise.allSettled([
      store.db.transact((tx) => store.write(tx, `lost${k}`)),
    ]);
    disk.onWrite = takeAll;
    expect(outcome.map(codeOf)).toEqual(['storage_full']);
    expect(integrity(store.db)).toBe('ok');
  }
  expect(store.db.checkpoints).toBeGreaterThan(5);
  expect(store.entries()).toHaveLength(6);
  expect(await integrityOfCopy(directory)).toBe('ok');
});

test('Reads that saw rows of a failed group are repeated without them.', async () => {
  const { store, disk } = await storeOnTestDisk();
  await store.db.transact((tx) => store.write(tx, 'a'));
  fillAfter(disk, 0, 'ENOSPC');
  const outcomes = await Promise.allSettled([
    store.db.transact((tx) => store.write(tx, 'b')),
    store.db.read((rx) => store.notes.get(rx, 'b')?.id),
    store.db.transact(() => {
      throw new Error('because b is there');
    }),
  ]);
  expect(outcomes[1]).toEqual({ status: 'fulfilled', value: undefined });
  expect([outcomes[0], outcomes[2]].map(codeOf)).toEqual(Array(2).fill('storage_full'));
  expect(await store.db.read((rx) => store.notes.get(rx, 'a')?.id)).toBe('a');
});

test('A read that was refused because of rows of a failed group is repeated without them.', async () => {
  const { store, disk } = await storeOnTestDisk();
  fillAfter(disk, 0, 'ENOSPC');
  const lost = store.db.transact((tx) => store.write(tx, 'b'));
  const read = store.db.read((rx) => {
    if (store.notes.get(rx, 'b')) throw new Error('b is there');
    return 'b is not there';
  });
  await expect(lost).rejects.toMatchObject({ code: 'storage_full' });
  expect(await read).toBe('b is not there');
});

test('A full disk does not affect groups that were committed before.', async () => {
  const { store, disk } = await storeOnTestDisk();
  using held = disk.holdSyncs(WAL_FILE);
  const first = store.db.transact((tx) => store.write(tx, 'a').seq);
  const synced = await held.next();
  fillAfter(disk, 0, 'ENOSPC');
  const second = store.db.transact((tx) => store.write(tx, 'b').seq);
  await expect(second).rejects.toMatchObject({ code: 'storage_full' });
  synced(null);
  expect(await first).toBe(1);
  expect(store.db.durableSeq).toBe(1);
});

test('Nothing of a failed group is announced.', async () => {
  const { store, disk } = await storeOnTestDisk();
  let announced = 0;
  store.db.onDurable((items) => void (announced += items.length));
  fillAfter(disk, 1, 'ENOSPC');
  await Promise.allSettled(writeGroup(store, 0));
  disk.onWrite = takeAll;
  expect(announced).toBe(0);
  await store.db.transact((tx) => store.write(tx, 'a'));
  expect(announced).toBe(1);
});

test('A checkpoint on a full disk warns, loses nothing, and is tried again once the log has grown.', async () => {
  const { store, disk, directory } = await storeOnTestDisk({
    checkpointBytes: 100 * 1024,
  });
  disk.onWrite = (file, bytes) => {
    if (file === DATABASE_FILE) throw systemError('ENOSPC');
    return bytes;
  };
  for (let i = 0; i < 40; i++)
    await store.db.transact((tx) => store.write(tx, `n${i}`, 'x'.repeat(9000)));
  expect(store.db.checkpoints).toBe(0);
  expect(store.warnings.length).toBeGreaterThan(1);
  expect(store.warnings.length).toBeLessThan(20);
  expect(store.entries()).toHaveLength(40);
  disk.onWrite = takeAll;
  for (let i = 40; i < 80; i++)
    await store.db.transact((tx) => store.write(tx, `n${i}`, 'x'.repeat(9000)));
  expect(store.db.checkpoints).toBeGreaterThan(0);
  expect(store.entries()).toHaveLength(80);
  expect(await integrityOfCopy(directory)).toBe('ok');
});

test('After a failed group, the next group still waits for its sync.', async () => {
  const { store, disk } = await storeOnTestDisk();
  await store.db.transact((tx) => store.write(tx, 'a'));
  const before = disk.count(`write ${WAL_FILE}`);
  await store.db.transact((tx) => store.notes.update(tx, note('a', { version: 2 })));
  const writesOfUpdate = disk.count(`write ${WAL_FILE}`) - before;

  // The disk fills at the position where the next group will end.
  fillAfter(disk, writesOfUpdate, 'ENOSPC');
  const outcomes = await Promise.allSettled(writeGroup(store, 0));
  expect(outcomes.map(codeOf)).toEqual(Array(MEMBERS).fill('storage_full'));
  disk.onWrite = takeAll;
  using held = disk.holdSyncs(WAL_FILE);
  const update = store.db.transact((tx) => store.notes.update(tx, note('a', { version: 3 })));
  expect(await settlesByItself(update), 'answered without a sync').toBe(false);
  (await held.next())(null);
  await update;
});

test('An exceeded quota fails a group like a full disk.', async () => {
  const { store, disk } = await storeOnTestDisk();
  fillAfter(disk, 2, 'EDQUOT');
  const outcomes = await Promise.allSettled(writeGroup(store, 0));
  expect(outcomes.map(codeOf)).toEqual(Array(MEMBERS).fill('storage_full'));
});

test('A statement without space fails its group so far, and later transactions form a new group.', async () => {
  const { store, directory } = await freshStore();
  const pages = () => query<[number]>(store.db, 'PRAGMA page_count')[0]?.[0] ?? 0;
  const limit = (count: number) => query(store.db, `PRAGMA max_page_count = ${count}`);
  let failures = 0;
  for (let room = 0, group = 0; ; room += 3, group++) {
    const durable = store.db.durableSeq;
    limit(pages() + room);
    const outcomes = await Promise.allSettled(writeGroup(store, group, 'x'.repeat(5000)));
    limit(1_000_000);
    const kept = outcomes.filter(({ status }) => status === 'fulfilled').length;
    // If a transaction fails, all earlier ones of the group fail, and the later ones start a new group.
    const firstKept = outcomes.findIndex(({ status }) => status === 'fulfilled');
    expect(outcomes.map(codeOf)).toEqual(
      outcomes.map((_, i) => (kept > 0 && i >= firstKept ? 'ok' : 'storage_full')),
    );
    expect(rowsOf(store, group)).toBe(kept);
    expect(store.db.durableSeq).toBe(durable + kept);
    const next = await store.db.transact((tx) => store.write(tx, `after${group}`).seq);
    expect(next).toBe(durable + kept + 1);
    expect(integrity(store.db)).toBe('ok');
    if (kept === MEMBERS) break;
    failures++;
  }
  expect(failures).toBeGreaterThan(10);
  const seqs = store.entries().map(({ seq }) => seq);
  expect(seqs).toEqual(Array.from({ length: store.db.durableSeq }, (_, i) => i + 1));
  expect(await integrityOfCopy(directory)).toBe('ok');
});

test('A statement without space fails its group even if its function catches the error.', async () => {
  const { store } = await freshStore();
  query(store.db, 'PRAGMA max_page_count = 1');
  const outcomes = await Promise.allSettled([
    store.db.transact((tx) => store.write(tx, 'a')),
    store.db.transact((tx) => {
      try {
        store.write(tx, 'b', 'x'.repeat(200_000));
      } catch {
        // The function ignores the error.
      }
      return 'went on';
    }),
  ]);
  expect(outcomes.map(codeOf)).toEqual(['storage_full', 'storage_full']);
  query(store.db, 'PRAGMA max_page_count = 1000000');
  expect(await store.db.transact((tx) => store.write(tx, 'c').seq)).toBe(1);
});

test('A failed write fails its group with storage_damaged, and the next group succeeds.', async () => {
  const { store, disk, directory } = await storeOnTestDisk();
  let failures = 0;
  for (let group = 0; ; group++) {
    fillAfter(disk, group, 'EIO');
    const outcomes = await Promise.allSettled(writeGroup(store, group));
    disk.onWrite = takeAll;
    if (outcomes.every(({ status }) => status === 'fulfilled')) break;
    failures++;
    expect(outcomes.map(codeOf)).toEqual(Array(MEMBERS).fill('storage_damaged'));
    expect(rowsOf(store, group)).toBe(0);
    await expectNextToBeOnDisk(store, disk, `after${group}`, store.db.durableSeq);
  }
  expect(failures).toBeGreaterThan(20);
  expect(await integrityOfCopy(directory)).toBe('ok');
});

test.each(readErrors)(
  'A failed read (%s) fails with storage_damaged, and later reads and writes succeed.',
  async (code) => {
    const { store, whileReadsFail } = await filledStore(code);
    const read = whileReadsFail(() => store.db.read((rx) => store.notes.get(rx, 'n250')));
    await expect(read).rejects.toMatchObject({ code: 'storage_damaged' });
    expect(await store.db.transact((tx) => store.write(tx, 'next').id)).toMatch(/^evt_/);
    expect(await store.db.read((rx) => store.notes.get(rx, 'n250')?.id)).toBe('n250');
  },
);

test.each(readErrors)(
  'A failed read (%s) fails with storage_damaged, and never leaves half of an open group.',
  async (code) => {
    const { store, whileReadsFail, expectWholeOrDamaged } = await filledStore(code);
    const write = store.db.transact((tx) => store.write(tx, 'beside'));
    const read = whileReadsFail(() => store.db.read((rx) => store.notes.get(rx, 'n250')));
    const [written, found] = await Promise.allSettled([write, read]);
    expect(codeOf(found)).toBe('storage_damaged');
    await expectWholeOrDamaged('beside', written);
  },
);

test.each(readErrors)(
  'A failed read (%s) for a subscriber never leaves half of an open group.',
  async (code) => {
    const { store, whileReadsFail, expectWholeOrDamaged } = await filledStore(code);
    const write = store.db.transact((tx) => store.write(tx, 'beside'));
    whileReadsFail(() => expect(() => store.entries()).toThrow(/malformed|disk I\/O error/));
    const [written] = await Promise.allSettled([write]);
    await expectWholeOrDamaged('beside', written);
  },
);

test.each(readErrors)(
  'A failed read (%s) in a transaction fails it with storage_damaged, and the next group succeeds.',
  async (code) => {
    const { store, whileReadsFail, expectWholeOrDamaged } = await filledStore(code);
    const [written, found] = await Promise.allSettled([
      store.db.transact((tx) => store.write(tx, 'a')),
      store.db.transact(() =>
        whileReadsFail(() => store.db.peek((rx) => store.notes.get(rx, 'n250'))),
      ),
    ]);
    expect(codeOf(found)).toBe('storage_damaged');
    await expectWholeOrDamaged('a', written);
  },
);

test('After a failed sync of the log, a fatal error is reported and nothing is acknowledged.', async () => {
  const { store, disk } = await storeOnTestDisk();
  await store.db.transact((tx) => store.write(tx, 'a'));
  let announced = 0;
  store.db.onDurable((items) => void (announced += items.length));
  disk.onSync = (_file, done) => void setImmediate(done, systemError('EIO'));
  const write = store.db.transact((tx) => store.write(tx, 'b'));
  const read = store.db.read((rx) => store.notes.get(rx, 'b'));
  expect(await isAcknowledged(write, read)).toBe(false);
  expect(store.fatal).toMatchObject([{ name: 'AppError', code: 'storage_damaged' }]);
  expect(announced).toBe(0);
  expect(store.db.durableSeq).toBe(1);
});

test('A failed sync of the log is not repeated, because a later sync might wrongly succeed.', async () => {
  const { store, disk } = await storeOnTestDisk();
  let announced = 0;
  store.db.onDurable((items) => void (announced += items.length));
  let syncs = 0;
  const fail = Promise.withResolvers<(error: NodeJS.ErrnoException) => void>();
  disk.onSync = (_file, done) => {
    if (++syncs === 1) fail.resolve(done);
    else setImmediate(done, null);
  };
  const first = store.db.transact((tx) => store.write(tx, 'a'));
  const failFirst = await fail.promise;
  const second = store.db.transact((tx) => store.write(tx, 'b'));
  failFirst(systemError('EIO'));
  expect(await isAcknowledged(first, second)).toBe(false);
  expect(announced).toBe(0);
  expect(syncs).toBe(1);
  expect(store.fatal).toHaveLength(1);
});

test('After a failed sync of the database file, nothing is acknowledged.', async () => {
  const { store, disk } = await storeOnTestDisk({ checkpointBytes: 150_000 });
  using held = disk.holdSyncs(DATABASE_FILE);
  await store.db.transact((tx) => store.write(tx, 'a', 'x'.repeat(10_000)));
  const synced = await held.next();
  const during = store.db.transact((tx) => store.write(tx, 'b'));
  await loopTurns(2);
  synced(systemError('EIO'));
  expect(store.fatal).toMatchObject([{ code: 'storage_damaged' }]);
  const after = store.db.transact((tx) => store.write(tx, 'c'));
  expect(await isAcknowledged(during, after)).toBe(false);
  await expect(after).rejects.toMatchObject({ code: 'storage_damaged' });
  expect(store.db.durableSeq).toBe(1);
});

test('A failed sync of the database file stays fatal if the log is synced after it.', async () => {
  const { store, disk } = await storeOnTestDisk({
    checkpointBytes: 64 * 1024,
  });
  let announced = 0;
  store.db.onDurable((items) => void (announced += items.length));
  using heldDatabase = disk.holdSyncs(DATABASE_FILE);
  using heldLog = disk.holdSyncs(WAL_FILE);
  const write = store.db.transact((tx) => store.write(tx, 'a', 'x'.repeat(200_000)));
  const [database, log] = await Promise.all([heldDatabase.next(), heldLog.next()]);
  database(systemError('EIO'));
  log(null);
  expect(await isAcknowledged(write)).toBe(false);
  expect(announced).toBe(0);
  expect(store.db.durableSeq).toBe(0);
  expect(store.fatal).toHaveLength(1);
});

test('After a failed sync of the log in a checkpoint, nothing is acknowledged.', async () => {
  const { store, disk } = await storeOnTestDisk({
    checkpointBytes: 64 * 1024,
  });
  // So much at once starts a checkpoint before the sync of the group, so that SQLite itself syncs the log.
  disk.onFsync = (file) => {
    if (file === WAL_FILE) throw systemError('EIO');
  };
  const write = store.db.transact((tx) => store.write(tx, 'a', 'x'.repeat(200_000)));
  expect(await isAcknowledged(write)).toBe(false);
  expect(store.fatal).toMatchObject([{ code: 'storage_damaged' }]);
});

test('If another program deletes the log, nothing more is acknowledged.', async () => {
  const { store, directory } = await storeOnTestDisk();
  await store.db.transact((tx) => store.write(tx, 'a'));
  nodeFs.unlinkSync(path.join(directory, WAL_FILE));
  const write = store.db.transact((tx) => store.write(tx, 'b'));
  expect(await isAcknowledged(write)).toBe(false);
  expect(store.fatal).toMatchObject([{ code: 'storage_damaged' }]);
  expect(store.fatal[0]?.message).toMatch(/was deleted by another program/);
});

test('A deleted data directory is reported even if new work is refused before it is written.', async () => {
  const { store, directory } = await freshStore();
  await store.db.transact((tx) => store.write(tx, 'a'));
  const settings = { max_bytes: 0, max_age_days: null, min_free_bytes: 0 };
  const place = { directory: directory, logs: directory };
  const given = { ...place, db: store.db, clock: systemClock, settings: () => settings };
  const budget = new StorageBudget(given);
  nodeFs.rmSync(directory, { recursive: true });
  expect(() => budget.assertRoom()).toThrow(
    'the data directory of the server was deleted while the server was running',
  );
  expect(store.fatal[0]?.message).toMatch(/was deleted by another program/);
});

function takeAll(_file: string, bytes: number): number {
  return bytes;
}

/** Makes the disk accept `count` writes, then `part` bytes of one write, and then refuse all writes. */
function fillAfter(disk: TestDisk, count: number, code: string, part = 0): void {
  let left = count;
  let rest = part;
  disk.onWrite = (_file, bytes) => {
    if (left-- > 0) return bytes;
    const taken = Math.min(rest, bytes - 1);
    rest = 0;
    if (taken > 0) return taken;
    throw systemError(code);
  };
}

/** Starts fifty transactions in one turn of the event loop, each with a row and an event. */
function writeGroup(store: TestStore, group: number, text = 'x'.repeat(500)): Promise<unknown>[] {
  return Array.from({ length: MEMBERS }, (_, i) =>
    store.db.transact((tx) => store.write(tx, `g${group}-${i}`, text)),
  );
}

function rowsOf(store: TestStore, group: number): number {
  return store.db.peek((rx) => store.notes.where(rx, 'id LIKE ?', `g${group}-%`)).length;
}

/** Expects that the next transaction gets a new number and is answered after another sync. */
async function expectNextToBeOnDisk(
  store: TestStore,
  disk: TestDisk,
  id: string,
  durable: number,
): Promise<void> {
  const syncs = disk.count(`synced ${WAL_FILE}`);
  const seq = await store.db.transact((tx) => store.write(tx, id).seq);
  expect(seq).toBe(durable + 1);
  expect(disk.count(`synced ${WAL_FILE}`), `syncs of ${id}`).toBe(syncs + 1);
}

function codeOf(outcome: PromiseSettledResult<unknown>): string {
  if (outcome.status === 'fulfilled') return 'ok';
  const { code, message } = outcome.reason as { code?: string; message: string };
  return typeof code === 'string' ? code : `${String(code)}: ${message}`;
}

/** Opens a store with so many rows that most of their pages are not read. Reads of its disk can fail with `code`. */
async function filledStore(code: string) {
  const directory = testDirectory();
  {
    await using store = await openStore(directory);
    await Promise.all(
      Array.from({ length: 500 }, (_, i) =>
        store.db.transact((tx) => store.write(tx, `n${i}`, 'x'.repeat(1500))),
      ),
    );
  }
  const disk = testDisk();
  const store = await openStore(directory, { fs: disk.fs });
  onTestFinished(() => store[Symbol.asyncDispose]());
  const durable = store.db.durableSeq;
  return {
    store,
    whileReadsFail<T>(work: () => T): T {
      disk.onRead = () => {
        throw systemError(code);
      };
      try {
        return work();
      } finally {
        disk.onRead = () => undefined;
      }
    },
    /**
     * Expects that the first write since then is stored and counted, or has failed with storage_damaged. The next write
     * succeeds.
     */
    async expectWholeOrDamaged(id: string, outcome: PromiseSettledResult<unknown>): Promise<void> {
      expect(['ok', 'storage_damaged']).toContain(codeOf(outcome));
      const kept = outcome.status === 'fulfilled';
      expect(store.db.peek((rx) => store.notes.get(rx, id)) !== undefined).toBe(kept);
      const next = await store.db.transact((tx) => store.write(tx, 'next').seq);
      expect(next).toBe(durable + (kept ? 2 : 1));
    },
  };
}
