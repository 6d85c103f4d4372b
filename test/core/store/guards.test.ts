import nodeFs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { instantiate } from '../../../src/core/store/host/sqlite.ts';
import { Reader, Writer } from '../../../src/core/store/transaction.ts';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import {
  DATABASE_FILE,
  hasSqliteCli,
  integrity,
  note,
  openStore,
  sqliteCli,
  systemError,
  testDisk,
  eventDraft,
  query,
  freshStore,
} from '../../support/store.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

test('The WASM of another build is refused by its checksum before it is compiled.', async () => {
  const other = Buffer.concat([sqlWasm(), Buffer.from([0])]);
  await expect(instantiate(other)).rejects.toThrow(
    /^sql-wasm\.wasm has checksum [0-9a-f]{12}\u2026, .* sql\.js 1\.16\.0: install exactly sql\.js/,
  );
});

test('The WASM is read only for the first store of a process.', async () => {
  await using directory = tempDirectory();
  await using other = tempDirectory();
  await using first = await openStore(directory.path);
  const wasm = () => {
    throw new Error('read again');
  };
  await using second = await openStore(other.path, { wasm });
  expect([first, second].map(({ db }) => integrity(db))).toEqual(['ok', 'ok']);
});

test('A statement of a closed store does not run, because its memory may belong to another store.', async () => {
  const store = await openStore(testDirectory());
  const statement = store.db.prepare('SELECT 1');
  expect(store.db.peek((rx) => statement.get(rx))).toEqual([1]);
  await store.db.close();
  const reader = new Reader();
  const writer = new Writer({ last: 0 }, { announced: [], whenDurable: [], whenLost: [] });
  expect(() => statement.get(reader)).toThrow(
    /^the server is stopping and has closed its database$/,
  );
  expect(() => statement.run(writer)).toThrow(
    /^the server is stopping and has closed its database$/,
  );
});

test('Each data directory has its own epoch, which stays across restarts.', async () => {
  await using directory = tempDirectory();
  await using other = tempDirectory();
  let count = 0;
  const newEpoch = () => `epoch_${++count}`;
  const epochs: string[] = [];
  for (const { path: at } of [directory, directory, other, directory]) {
    await using store = await openStore(at, { newEpoch });
    epochs.push(store.db.epoch);
  }
  expect(epochs).toEqual(['epoch_1', 'epoch_1', 'epoch_2', 'epoch_1']);
});

test('A data directory has the version that wrote it last.', async () => {
  await using directory = tempDirectory();
  for (const version of ['1.2.3', '1.3.0', '1.3.0']) {
    await using store = await openStore(directory.path, { version });
    const writer = query(store.db, "SELECT value FROM meta WHERE key = 'written_by'")[0];
    expect(writer).toEqual([version]);
  }
});

test('A data directory of a newer format is refused with the version that wrote it, and not changed.', async () => {
  await using directory = tempDirectory();
  await makeNewer(directory.path);
  const { fs, journal } = testDisk();
  await expect(openStore(directory.path, { version: '1.0.0', fs })).rejects.toMatchObject({
    name: 'AppError',
    code: 'storage_damaged',
    message: expect.stringMatching(/data format 99 of cadre 9\.1\.0, but cadre 1\.0\.0/),
  });
  expect(journal.filter((line) => line.startsWith('write'))).toEqual([]);
});

test('Only the owner can read the files of a data directory.', async () => {
  const { store, directory } = await freshStore();
  await store.db.transact((tx) => store.write(tx, 'a'));
  for (const name of nodeFs.readdirSync(directory)) {
    const { mode } = nodeFs.statSync(path.join(directory, name));
    expect([name, (mode & 0o777).toString(8)]).toEqual([name, '600']);
  }
});

test('A file that is not a database is refused with storage_damaged.', async () => {
  await using directory = tempDirectory();
  nodeFs.writeFileSync(path.join(directory.path, DATABASE_FILE), 'no database, '.repeat(1000));
  await expect(openStore(directory.path)).rejects.toMatchObject({
    name: 'AppError',
    code: 'storage_damaged',
  });
});

test('A store on a disk that fills is refused with storage_full, and opens once there is space.', async () => {
  for (const writes of [0, 1, 2, 3, 5, 8, 13, 21, 34, 55]) {
    await using directory = tempDirectory();
    const disk = testDisk();
    let left = writes;
    disk.onWrite = (_file, bytes) => {
      if (left-- > 0) return bytes;
      throw systemError('ENOSPC');
    };
    await expect(openStore(directory.path, { fs: disk.fs })).rejects.toMatchObject({
      name: 'AppError',
      code: 'storage_full',
    });
    await using store = await openStore(directory.path);
    expect(store.db.epoch).toMatch(/^epoch_/);
    expect(await store.db.transact((tx) => store.write(tx, 'a').seq)).toBe(1);
    expect(integrity(store.db)).toBe('ok');
  }
});

const damaged = { name: 'AppError', code: 'storage_damaged' };
const named = (row: number, table: string) => ({
  ...damaged,
  message: expect.stringContaining(`row ${row} of table ${table} `) as unknown,
});

test.each([
  ['one letter', 'hello', 'jello'],
  ['what its JSON needs', 'hello"', 'hello}'],
  ['what is no UTF-8 any more', 'hello', Buffer.from('hel\xff\xff', 'latin1')],
])('A record with a change in %s is refused with its row and table.', async (_what, from, to) => {
  await using directory = tempDirectory();
  await fillWithHello(directory.path);
  overwrite(directory.path, from, to);
  await using store = await openStore(directory.path);
  await expect(store.db.read((rx) => store.notes.get(rx, 'b'))).rejects.toMatchObject(
    named(2, 'sessions'),
  );
  await expect(store.db.read((rx) => store.notes.page(rx, {}, 10))).rejects.toMatchObject(
    named(2, 'sessions'),
  );
  await expect(store.db.transact((tx) => store.notes.get(tx, 'b'))).rejects.toMatchObject(
    named(2, 'sessions'),
  );
  expect(store.db.peek((rx) => store.notes.get(rx, 'a'))?.text).toBe('good');
});

test('A record that is not valid JSON is refused if SQLite itself filters by it.', async () => {
  await using directory = tempDirectory();
  await fillWithHello(directory.path);
  overwrite(directory.path, 'hello"', 'hello}');
  await using store = await openStore(directory.path);
  // One of the two filters has an index, and SQLite reads the other one from the record.
  const page = () =>
    store.db.peek((rx) => store.notes.page(rx, { status: 'ready', provider: 'acp' }, 10));
  await expect(store.db.read(page)).rejects.toMatchObject(damaged);
});

test.each([
  ['events', 3],
  ['deltas', 4],
])('A changed event of the table %s is refused with its seq and table.', async (table, seq) => {
  await using directory = tempDirectory();
  {
    await using store = await openStore(directory.path);
    await store.db.transact((tx) => {
      store.log.append(tx, eventDraft('a', { text: 'good' }));
      store.log.append(tx, eventDraft('a', { text: 'good' }));
      store.log.append(tx, eventDraft('a', { text: 'hello events' }));
      const payload = { text: 'hello deltas', item_id: 'i', offset: 0 };
      store.log.append(tx, { kind: 'message.delta', session_id: 'a', payload });
    });
  }
  overwrite(directory.path, `hello ${table}`, `jello ${table}`);
  await using store = await openStore(directory.path);
  expect(() => store.entries()).toThrow(expect.objectContaining(named(seq, table)));
});

test.runIf(hasSqliteCli).each([
  ['events', 'seq'],
  ['sessions', 'n'],
])(
  'An intact text in the wrong row of %s is refused with its row and table.',
  async (table, key) => {
    await using directory = tempDirectory();
    {
      await using store = await openStore(directory.path);
      for (const id of ['a', 'b']) await store.db.transact((tx) => store.write(tx, id));
    }
    const first = (column: string) => `(SELECT ${column} FROM ${table} WHERE ${key} = 1)`;
    const change = `record = ${first('record')}, sum = ${first('sum')}`;
    sqliteCli(directory.path, `UPDATE ${table} SET ${change} WHERE ${key} = 2`);
    await using store = await openStore(directory.path);
    const read = () =>
      table === 'events' ? store.entries() : store.db.peek((rx) => store.notes.get(rx, 'b'));
    expect(read).toThrow(expect.objectContaining(named(2, table)));
  },
);

/** Makes a store of a future version. */
async function makeNewer(directory: string): Promise<void> {
  await using store = await openStore(directory, { version: '9.1.0' });
  query(store.db, 'PRAGMA user_version = 99');
}

/** Writes two records; the text of the second one can be found in the file. */
async function fillWithHello(directory: string): Promise<void> {
  await using store = await openStore(directory);
  await store.db.transact((tx) => store.notes.insert(tx, note('a', { text: 'good' })));
  const text = `${'x'.repeat(20_000)}hello`;
  await store.db.transact((tx) => store.notes.insert(tx, note('b', { text })));
}

/** Changes bytes of the closed database file, as a faulty disk might. */
function overwrite(directory: string, from: string, to: string | Buffer): void {
  const file = path.join(directory, DATABASE_FILE);
  const bytes = nodeFs.readFileSync(file);
  const at = bytes.lastIndexOf(from);
  if (at < 0) throw new Error(`no ${from} in ${file}`);
  Buffer.from(to).copy(bytes, at);
  nodeFs.writeFileSync(file, bytes);
}
