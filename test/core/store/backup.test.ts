import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { expectError } from '../../support/an-error.ts';
import { ANCHOR_FILE } from '../../../src/core/store/anchor.ts';
import { type Backup, Backups, backUpClosed } from '../../../src/core/store/backup.ts';
import { checkStore } from '../../../src/core/store/check.ts';
import { forksOf } from '../../../src/core/store/forks.ts';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import {
  copyStore,
  DATABASE_FILE,
  openStore,
  type TestStore,
  eventDraft,
  WAL_FILE,
  query,
  freshStore,
  storeOnTestDisk,
} from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';

const never = new AbortController().signal;

function settingsOf(directory: string) {
  return { directory, wasm: sqlWasm, newEpoch: () => 'epoch_copy', minFreeBytes: () => 0 };
}

function backupsOf({ db }: TestStore, directory: string): Backups {
  return new Backups({ db, ...settingsOf(directory) });
}

/** Writes a backup to the path of a database; returns the path. */
async function keep({ file }: Backup, directory: string): Promise<string> {
  await using _file = file;
  const kept = path.join(directory, DATABASE_FILE);
  fs.writeFileSync(kept, await file.readFile());
  return kept;
}

function damageOf(file: string) {
  const given = { file, wasm: sqlWasm, version: '1', signal: never };
  return checkStore({ ...given, onProgress: () => undefined });
}

/** Writes without a pause. The returned function stops it, and resolves with the number of writes. */
function writing(store: TestStore, name: string): () => Promise<number> {
  let isOver = false;
  const done = (async () => {
    let count = 0;
    while (!isOver) {
      await store.db.transact((tx) => store.write(tx, `${name}${count}`, 'x'.repeat(2000)));
      count++;
    }
    return count;
  })();
  return () => {
    isOver = true;
    return done;
  };
}

test('A backup is one file with all records and events, and has its own epoch.', async () => {
  await using directory = tempDirectory();
  await using other = tempDirectory();
  await using store = await openStore(directory.path);
  for (const id of ['a', 'b', 'c']) await store.db.transact((tx) => store.write(tx, id));
  const backup = await backupsOf(store, directory.path).make(never);
  expect(backup.seq).toBe(3);
  const kept = await keep(backup, other.path);
  expect(fs.statSync(kept).size).toBe(backup.bytes);
  expect((await damageOf(kept)).damage).toEqual([]);
  await using copy = await openStore(other.path);
  expect(copy.entries()).toEqual(store.entries());
  expect(copy.db.peek((rx) => copy.notes.get(rx, 'c'))?.id).toBe('c');
  expect(copy.db.epoch).toBe('epoch_copy');
});

test('A backup has the epochs of the logs that it was copied from, each with its last seq.', async () => {
  await using directory = tempDirectory();
  await using other = tempDirectory();
  await using third = tempDirectory();
  await using store = await openStore(directory.path);
  expect(forksOf(store.db)).toEqual([]);
  for (const id of ['a', 'b', 'c']) await store.db.transact((tx) => store.write(tx, id));
  await keep(await backupsOf(store, directory.path).make(never), other.path);
  await using copy = await openStore(other.path);
  const first = { epoch: store.db.epoch, seq: 3 };
  expect(forksOf(copy.db)).toEqual([first]);
  await copy.db.transact((tx) => copy.write(tx, 'd'));
  const settings = { ...settingsOf(other.path), newEpoch: () => 'epoch_second_copy' };
  await keep(await new Backups({ db: copy.db, ...settings }).make(never), third.path);
  await using copyOfCopy = await openStore(third.path);
  expect(forksOf(copyOfCopy.db)).toEqual([{ epoch: 'epoch_copy', seq: 4 }, first]);
});

test('Backups under load are intact, and have the whole log up to their seq.', async () => {
  const { store, directory } = await freshStore({ checkpointBytes: 64 * 1024 });
  const backups = backupsOf(store, directory);
  const stops = ['a', 'b', 'c'].map((name) => writing(store, name));
  const seqs: number[] = [];
  for (let round = 0; round < 8; round++) {
    await using other = tempDirectory();
    const checkpoints = store.db.checkpoints;
    while (store.db.checkpoints === checkpoints)
      await store.db.transact((tx) =>
        store.log.append(tx, eventDraft('more', { text: 'x'.repeat(1000) })),
      );
    const backup = await backups.make(never);
    seqs.push(backup.seq);
    expect((await damageOf(await keep(backup, other.path))).damage).toEqual([]);
    await using copy = await openStore(other.path);
    const entries = copy.entries();
    expect(entries.at(-1)?.seq).toBe(backup.seq);
    expect(entries).toEqual(store.entries().filter(({ seq }) => seq <= backup.seq));
    expect(copy.db.peek((rx) => copy.notes.where(rx, 'true'))).toHaveLength(
      entries.filter(({ text }) => !text.includes('"more"')).length,
    );
  }
  for (const stop of stops) expect(await stop()).toBeGreaterThan(8);
  expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
});

test('A backup has only rows that are on disk.', async () => {
  const { store, disk, directory } = await storeOnTestDisk();
  await store.db.transact((tx) => store.write(tx, 'a'));
  using held = disk.holdSyncs(WAL_FILE);
  const written = store.db.transact((tx) => store.write(tx, 'b'));
  const synced = await held.next();
  const backup = backupsOf(store, directory).make(never);
  const later = store.db.transact((tx) => store.write(tx, 'c'));
  const order: string[] = [];
  void written.then(() => order.push('b is on disk'));
  void backup.then(() => order.push('backup'));
  synced(null);
  (await held.next())(null);
  const { file, seq } = await backup;
  await file.close();
  expect([seq, order]).toEqual([2, ['b is on disk', 'backup']]);
  await later;
});

test('A backup delays checkpoints only while it is made.', async () => {
  const { store } = await freshStore({ checkpointBytes: 1 });
  await store.db.transact((tx) => store.write(tx, 'a'));
  const held = await store.db.hold();
  const { checkpoints } = store.db;
  const before = store.db.walBytes;
  await store.db.transact((tx) => store.write(tx, 'b'));
  expect(store.db.checkpoints).toBe(checkpoints);
  expect(store.db.walBytes).toBeGreaterThan(before);
  held[Symbol.dispose]();
  await store.db.transact((tx) => store.write(tx, 'c'));
  expect(store.db.checkpoints).toBeGreaterThan(checkpoints);
});

test('A cancelled backup leaves no file, and checkpoints continue.', async () => {
  const { store, directory } = await freshStore({ checkpointBytes: 1 });
  await store.db.transact((tx) => store.write(tx, 'a', 'x'.repeat(100_000)));
  const files = fs.readdirSync(directory);
  const stop = new AbortController();
  const backup = backupsOf(store, directory).make(stop.signal);
  stop.abort(new Error('called off'));
  await expect(backup).rejects.toThrow('called off');
  expect(fs.readdirSync(directory)).toEqual(files);
  const { checkpoints } = store.db;
  await store.db.transact((tx) => store.write(tx, 'b'));
  expect(store.db.checkpoints).toBeGreaterThan(checkpoints);
});

test('A backup creates no file in the data directory, not even while it is read.', async () => {
  const { store, directory } = await freshStore();
  await store.db.transact((tx) => store.write(tx, 'a'));
  const files = fs.readdirSync(directory);
  const { file } = await backupsOf(store, directory).make(never);
  expect(fs.readdirSync(directory)).toEqual(files);
  await file.close();
});

test('A second backup at the same time is refused.', async () => {
  const { store, directory } = await freshStore();
  const backups = backupsOf(store, directory);
  const first = backups.make(never);
  await expectError(backups.make(never), 'conflict');
  await (await first).file.close();
  await (await backups.make(never)).file.close();
});

test('A backup that would leave too little free space is refused.', async () => {
  const { store, directory } = await freshStore();
  const files = fs.readdirSync(directory);
  const minFreeBytes = () => Number.MAX_SAFE_INTEGER;
  const settings = { ...settingsOf(directory), minFreeBytes };
  const backups = new Backups({ db: store.db, ...settings });
  await expectError(backups.make(never), 'storage_full', 'free some space');
  expect(fs.readdirSync(directory)).toEqual(files);
});

test('Closing the store waits for a running backup.', async () => {
  await using directory = tempDirectory();
  await using other = tempDirectory();
  const store = await openStore(directory.path);
  await store.db.transact((tx) => store.write(tx, 'a'));
  const backup = backupsOf(store, directory.path).make(never);
  await store.db.close();
  const kept = await keep(await backup, other.path);
  expect(await damageOf(kept)).toMatchObject({ damage: [] });
});

test('A backup has no children and no unswept runs of its server.', async () => {
  await using directory = tempDirectory();
  await using other = tempDirectory();
  await using store = await openStore(directory.path);
  const insert = [
    store.db.prepare("INSERT INTO children VALUES (1, 2, 'boot', 'marker', 'agent', 3)"),
    store.db.prepare(
      "INSERT INTO runs (marker, boot_id, durability, started_at) VALUES ('m', 'b', 'full', 7)",
    ),
  ];
  await store.db.transact((tx) => {
    for (const one of insert) one.run(tx);
  });
  await keep(await backupsOf(store, directory.path).make(never), other.path);
  await using copy = await openStore(other.path);
  const count = (sql: string) => query<[number]>(copy.db, sql)[0]?.[0];
  expect(count('SELECT count(*) FROM children')).toBe(0);
  expect(count('SELECT count(*) FROM runs WHERE swept_at IS NULL')).toBe(0);
  expect(count('SELECT count(*) FROM runs')).toBe(1);
});

test("A backup of a killed server's data has the events of its write-ahead log.", async () => {
  await using directory = tempDirectory();
  await using killed = tempDirectory();
  await using other = tempDirectory();
  await using store = await openStore(directory.path);
  for (const id of ['a', 'b']) await store.db.transact((tx) => store.write(tx, id));
  copyStore(directory.path, killed.path);
  fs.mkdirSync(path.join(killed.path, 'backup-of-the-dead'));
  const before = fs.readFileSync(path.join(killed.path, WAL_FILE));
  const backup = await backUpClosed(settingsOf(killed.path), never);
  expect(backup.seq).toBe(2);
  expect(fs.readdirSync(killed.path).toSorted()).toEqual([DATABASE_FILE, WAL_FILE, ANCHOR_FILE]);
  expect(fs.readFileSync(path.join(killed.path, WAL_FILE)).equals(before)).toBe(true);
  await keep(backup, other.path);
  await using copy = await openStore(other.path);
  expect(copy.entries()).toEqual(store.entries());
});

test('A backup of a store that was opened after a kill has the events of its write-ahead log.', async () => {
  await using directory = tempDirectory();
  await using killed = tempDirectory();
  await using store = await openStore(directory.path);
  await store.db.transact((tx) => store.write(tx, 'a'));
  copyStore(directory.path, killed.path);
  await using again = await openStore(killed.path);
  const { file, seq } = await backupsOf(again, killed.path).make(never);
  await file.close();
  expect(seq).toBe(1);
});
