import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import {
  checkIndexes,
  type CheckPosition,
  type IndexFault,
} from '../../../src/core/store/index-check.ts';
import type { Database } from '../../../src/core/store/database.ts';
import {
  DATABASE_FILE,
  integrity,
  note,
  openStore,
  query,
  eventDraft,
} from '../../support/store.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

const NOTES = 300;
const INDEX_LEAF = 10;
const TABLE_LEAF = 13;

/** Writes notes and events, and returns the bytes of the closed database and the size of its pages. */
async function storedBytes(directory: string): Promise<{ bytes: Buffer; size: number }> {
  {
    await using store = await openStore(directory);
    await store.db.transact((tx) => {
      for (let i = 1; i <= NOTES; i++) store.write(tx, `sess_${i}`, 'x'.repeat(50));
      for (let i = 1; i <= NOTES; i++) store.log.append(tx, eventDraft('sess_a'));
    });
  }
  const bytes = fs.readFileSync(path.join(directory, DATABASE_FILE));
  return { bytes, size: bytes.readUInt16BE(16) };
}

/** Returns the offsets of the pages of a type that contain a text. */
function pagesWith({ bytes, size }: { bytes: Buffer; size: number }, type: number, text: string) {
  const pages: number[] = [];
  for (let page = 0; page < bytes.length; page += size)
    if (bytes[page] === type && bytes.subarray(page, page + size).includes(text)) pages.push(page);
  return pages;
}

/** Returns all faults that a check of the database finds. */
async function faultsOf(db: Database): Promise<IndexFault[]> {
  const faults: IndexFault[] = [];
  for await (const _ of checkIndexes(db, null, (fault) => faults.push(fault)));
  return faults;
}

/** Returns the faults that a check finds in a database with these bytes. */
async function faultsIn(bytes: Buffer): Promise<string[]> {
  await using directory = tempDirectory();
  fs.writeFileSync(path.join(directory.path, DATABASE_FILE), bytes);
  await using store = await openStore(directory.path);
  return (await faultsOf(store.db)).map(
    ({ table, index, problem }) => `${index ?? table} ${problem}`,
  );
}

test('The check finds nothing in an intact store under writes, and reads every table with an index.', async () => {
  await using directory = tempDirectory();
  await storedBytes(directory.path);
  await using store = await openStore(directory.path);
  const faults: IndexFault[] = [];
  const tables = new Set<string>();
  let count = 0;
  for await (const { table } of checkIndexes(store.db, null, (fault) => faults.push(fault))) {
    tables.add(table);
    const id = `sess_${1 + (count++ % 200)}`;
    await store.db.transact((tx) => {
      store.notes.update(tx, note(id, { status: 'closed' }));
      if (count % 7 === 0) store.notes.delete(tx, `sess_${NOTES - (count % 50)}`);
      store.write(tx, `later_${count}`);
    });
  }
  expect(faults).toEqual([]);
  expect(integrity(store.db)).toBe('ok');
  const indexed = query<[string]>(
    store.db,
    `SELECT DISTINCT tbl_name FROM sqlite_schema JOIN pragma_table_list AS list ON list.name = tbl_name
       WHERE sqlite_schema.type = 'index' AND wr = 0`,
  );
  expect([...tables].toSorted()).toEqual(indexed.map(([name]) => name).toSorted());
});

test.each([
  ['sessions_status', 'ready'],
  ['sessions_provider', 'acp'],
  ['sqlite_autoindex_sessions_1', 'sess_77'],
  ['events_kind', 'session.updated'],
  ['events_session', 'sess_a'],
])(
  'The check names the index %s, which has lost a row because of one bit.',
  async (index, value) => {
    const stored = await storedBytes(testDirectory());
    const found = [];
    for (const page of pagesWith(stored, INDEX_LEAF, value)) {
      const bytes = Buffer.from(stored.bytes);
      bytes[bytes.subarray(0, page + stored.size).lastIndexOf(value) + 2]! ^= 1;
      found.push(...(await faultsIn(bytes)));
    }
    expect(found).toContainEqual(expect.stringMatching(`^${index} does not contain row \\d+$`));
  },
);

test.each([
  ['two adjacent pages that have changed places', 0, 1],
  ['two distant pages that have changed places', 0, 4],
])('The check names the table with %s.', async (_, one, other) => {
  const { bytes, size } = await storedBytes(testDirectory());
  const pages = pagesWith({ bytes, size }, TABLE_LEAF, '"id":"sess_');
  const [first = 0, second = 0] = [pages[one], pages[other]];
  const copy = Buffer.from(bytes);
  bytes.copy(copy, first, second, second + size);
  bytes.copy(copy, second, first, first + size);
  expect(await faultsIn(copy)).toContainEqual(
    expect.stringMatching(/^sessions (hides rows|has row \d+ behind)/),
  );
});

test('The check names an index with entries without a row, if the disk has lost a write of a page of a table.', async () => {
  const directory = testDirectory();
  const before = await storedBytes(directory);
  {
    await using store = await openStore(directory);
    await store.db.transact((tx) => store.write(tx, 'last', 'x'));
  }
  const bytes = fs.readFileSync(path.join(directory, DATABASE_FILE));
  const [page = 0] = pagesWith({ bytes, size: before.size }, TABLE_LEAF, '"id":"last"');
  before.bytes.copy(bytes, page, page, page + before.size);
  expect(await faultsIn(bytes)).toContainEqual(
    expect.stringMatching(/^sqlite_autoindex_sessions_1 has an entry without its row: \d+$/),
  );
});

test('The check names the table with a changed row.', async () => {
  const { bytes } = await storedBytes(testDirectory());
  bytes[bytes.indexOf('xxxxx', bytes.indexOf('{"id":"sess_150"'))]! ^= 1;
  expect(await faultsIn(bytes)).toContainEqual(
    expect.stringMatching(/^sessions has a damaged row: \d+$/),
  );
});

test('A check from a position checks the rest of that table, and then all other tables.', async () => {
  await using directory = tempDirectory();
  await storedBytes(directory.path);
  await using store = await openStore(directory.path);
  const positions: CheckPosition[] = [];
  const from = { table: 'sessions', row: 250 };
  for await (const position of checkIndexes(store.db, from, () => undefined))
    positions.push(position);
  expect(positions[0]).toEqual(from);
  expect(positions.map(({ table }) => table)).toContain('events');
  const ofSessions = positions.filter(({ table }) => table === 'sessions');
  expect(Math.min(...ofSessions.map(({ row }) => row))).toBe(250);
});

test('A list fails with storage_damaged if its index has a row under a wrong value.', async () => {
  await using directory = tempDirectory();
  {
    await using store = await openStore(directory.path);
    await store.db.transact((tx) => {
      for (let i = 1; i <= 10; i++)
        store.notes.insert(tx, note(`sess_${i}`, { status: i === 5 ? 'closed' : 'ready' }));
    });
  }
  const bytes = fs.readFileSync(path.join(directory.path, DATABASE_FILE));
  const stored = { bytes, size: bytes.readUInt16BE(16) };
  const [page = 0] = pagesWith(stored, INDEX_LEAF, 'closed');
  // The entry of the closed note now belongs to "closee".
  bytes[bytes.indexOf('closed', page) + 5]! ^= 1;
  fs.writeFileSync(path.join(directory.path, DATABASE_FILE), bytes);
  await using store = await openStore(directory.path);
  const read = () => store.db.peek((rx) => store.notes.page(rx, { status: 'closee' }, 100));
  expect(read).toThrow(expect.objectContaining({ code: 'storage_damaged' }));
  expect(store.db.damage.found).toEqual(['row 5 of table sessions']);
});
