import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { SnapshotObjectStores } from '../../../../src/server/work/snapshots/object-stores.ts';
import { SnapshotStore, type StoredSnapshot } from '../../../../src/server/work/snapshots/store.ts';
import type { Database } from '../../../../src/core/store/database.ts';
import { openDatabase } from '../../../support/database.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { tempDirectory } from '../../../support/temp.ts';

const DAY = 86_400_000;

/** Runs `work` with snapshot object stores of at most 1000 bytes and 14 days, on a real database. */
async function onDepots(
  work: (given: {
    root: string;
    clock: ManualClock;
    snapshotObjectStores: SnapshotObjectStores;
    /** Adds a snapshot with so many bytes of objects to the object store of a session. */
    add: (session: string, bytes: number) => Promise<void>;
    /** Returns the sessions that have an object store, on the disk and in the database. */
    there: () => { files: string[]; rows: string[] };
    /** Stops the next removal of an object store once its rows are gone; its files stay until `goOn`. */
    holdRemoval: () => { begun: Promise<void>; goOn: () => void };
  }) => Promise<void>,
): Promise<void> {
  await using own = tempDirectory('stores');
  const db = await openDatabase(own.path);
  const clock = new ManualClock();
  const store = new SnapshotStore(db);
  const root = path.join(own.path, 'snapshots');
  const settings = () => ({ max_bytes: 1000, max_age_days: 14 });
  const begun = Promise.withResolvers<void>();
  let goneOn = Promise.resolve();
  const transact: Database['transact'] = async (change, andThen) => {
    const result = await db.transact(change, andThen);
    begun.resolve();
    await goneOn;
    return result;
  };
  const slow = { read: db.read.bind(db), transact } as Database;
  const snapshotObjectStores = new SnapshotObjectStores({ db: slow, clock, store, root, settings });
  const sessions = new Set<string>();
  let count = 0;
  try {
    await work({
      root,
      clock,
      snapshotObjectStores,
      async add(session, bytes) {
        sessions.add(session);
        await snapshotObjectStores.use(session, async (objectStore) => {
          count += 1;
          fs.writeFileSync(path.join(root, objectStore, `object-${count}`), 'x'.repeat(bytes));
          const snapshot: StoredSnapshot = {
            session_id: session,
            turn_id: `turn-${count}`,
            moment: 'end',
            taken_at: clock.now(),
            tree: 'a'.repeat(40),
            head_commit: null,
            root: '/repo',
            is_whole: true,
            problem: null,
            is_late: false,
            took_ms: 1,
            depot: objectStore,
            repository: '/repo/.git',
          };
          await db.transact((tx) => store.add(tx, snapshot));
        });
        clock.advance(1000);
      },
      holdRemoval() {
        const { promise, resolve: goOn } = Promise.withResolvers<void>();
        goneOn = promise;
        return { begun: begun.promise, goOn };
      },
      there: () => ({
        files: fs.existsSync(root) ? fs.readdirSync(root).toSorted() : [],
        rows: db.peek((rx) =>
          [...sessions].filter((one) => store.of(rx, one).length > 0).toSorted(),
        ),
      }),
    });
  } finally {
    await db.close();
  }
}

function both(...names: string[]) {
  return { files: names, rows: names };
}

test('Object stores above the size limit are removed with their rows, the oldest first, at most every ten minutes.', () =>
  onDepots(async ({ snapshotObjectStores, clock, add, there }) => {
    await snapshotObjectStores.trim();
    await add('a', 400);
    await add('b', 400);
    await add('c', 400);
    // The age of an object store counts from the last write.
    await add('a', 1);
    await snapshotObjectStores.trim();
    expect(there()).toEqual(both('a', 'b', 'c'));
    clock.advance(10 * 60_000);
    await snapshotObjectStores.trim();
    expect(there()).toEqual(both('a', 'c'));
    await add('b', 10);
    expect(there()).toEqual(both('a', 'b', 'c'));
  }));

test('Object stores above the age limit are removed, except the store of a running snapshot.', () =>
  onDepots(async ({ snapshotObjectStores, clock, add, there }) => {
    await add('a', 10);
    await add('b', 10);
    clock.advance(13 * DAY);
    await add('c', 10);
    clock.advance(2 * DAY);
    await snapshotObjectStores.use('b', () => snapshotObjectStores.trim());
    expect(there()).toEqual(both('b', 'c'));
    clock.advance(10 * 60_000);
    await snapshotObjectStores.trim();
    expect(there()).toEqual(both('c'));
  }));

test('A snapshot that begins while its object store is being removed gets another store, and stays.', () =>
  onDepots(async ({ snapshotObjectStores, clock, add, there, holdRemoval }) => {
    await add('a', 10);
    clock.advance(15 * DAY);
    const removal = holdRemoval();
    const trimming = snapshotObjectStores.trim();
    await removal.begun;
    await add('a', 10);
    removal.goOn();
    await trimming;
    expect(there()).toEqual(both('a'));
  }));

test('Object stores without rows are removed at the next search, and the stores of a removed session at once.', () =>
  onDepots(async ({ snapshotObjectStores, root, add, there }) => {
    await add('a', 10);
    fs.mkdirSync(path.join(root, 'lost/1'), { recursive: true });
    await snapshotObjectStores.trim();
    expect(there()).toEqual(both('a'));
    await snapshotObjectStores.removeSession('a');
    expect(there().files).toEqual([]);
  }));
