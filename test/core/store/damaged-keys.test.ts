import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/api/errors.ts';
import type { Scope } from '../../../src/core/events/event.ts';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import { openConnection } from '../../../src/core/store/connection.ts';
import { expectError } from '../../support/an-error.ts';
import { pageOf } from '../../support/entries.ts';
import { DATABASE_FILE, note, openStore, type TestStore, eventDraft } from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';

const EVENTS = 61;
const scopes: Scope[] = [{ name: 'runtime' }, { name: 'session', id: 'sess_a' }];

/** Writes a store whose rows have keys of two bytes, and returns the bytes of its closed file. */
async function storedBytes(directory: string): Promise<Buffer> {
  {
    await using store = await openStore(directory);
    await store.db.transact((tx) => {
      for (let i = 0; i < 200; i++) tx.nextSeq();
      for (let i = 0; i < EVENTS; i++)
        store.log.append(tx, eventDraft(i % 2 === 0 ? 'sess_a' : `sess_${i}`));
    });
  }
  return fs.readFileSync(path.join(directory, DATABASE_FILE));
}

/** Runs a statement in a closed store. */
async function change(directory: string, sql: string): Promise<void> {
  using connection = await openConnection({ wasm: sqlWasm, directory });
  connection.sql.exec(sql);
}

/** Returns the offset of the key of an event in the file, before the header of its row. */
function keyOf(bytes: Buffer, seq: number): number {
  const record = bytes.indexOf(`{"seq":${seq},`);
  const key = bytes.lastIndexOf(Buffer.from([0x80 | (seq >> 7), seq & 0x7f]), record);
  expect(record - key).toBeLessThan(100);
  return key;
}

/** Returns the events of a scope after a cursor, read in pages, or the code of the error of a page. */
function readAll({ log, db }: TestStore, scope: Scope, limit: number, from = 0): number[] | string {
  const seqs: number[] = [];
  try {
    for (let after = from, isFull = true; isFull;) {
      const page = pageOf(log, scope, { after, upTo: db.durableSeq, limit, maxBytes: 1e9 });
      seqs.push(...page.entries.map(({ seq }) => seq));
      ({ isFull, end: after } = page);
    }
    return seqs;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.code;
  }
}

test.each([
  ['in the middle of the log', 231],
  ['at the end of the log', 261],
])(
  'A page fails with storage_damaged, instead of ending early, if a key %s became huge.',
  async (_, seq) => {
    await using directory = tempDirectory();
    const bytes = await storedBytes(directory.path);
    // Now the key seems to have more than two bytes.
    bytes[keyOf(bytes, seq) + 1]! |= 0x80;
    fs.writeFileSync(path.join(directory.path, DATABASE_FILE), bytes);
    await using store = await openStore(directory.path);
    for (const scope of scopes) {
      for (const limit of [7, 1000]) expect(readAll(store, scope, limit)).toBe('storage_damaged');
    }
    expect(store.db.damage.found).not.toEqual([]);
  },
);

test('A page fails with storage_damaged, instead of skipping events, if a key became smaller.', async () => {
  await using directory = tempDirectory();
  const bytes = await storedBytes(directory.path);
  const found = new Set<number | string>();
  for (let seq = 256; seq <= 261; seq++) {
    const damaged = Buffer.from(bytes);
    damaged[keyOf(bytes, seq)]! ^= 2;
    fs.writeFileSync(path.join(directory.path, DATABASE_FILE), damaged);
    await using store = await openStore(directory.path);
    for (let after = 240; after < 261; after++) {
      const seqs = readAll(store, { name: 'runtime' }, 1000, after);
      found.add(typeof seqs === 'string' ? seqs : seqs.length - (261 - after));
    }
  }
  // A search that does not meet the corrupt key finds all events after the cursor.
  expect(found).toEqual(new Set([0, 'storage_damaged']));
});

test('A page fails with storage_damaged, instead of never ending, if the file names a row twice.', async () => {
  await using directory = tempDirectory();
  const bytes = await storedBytes(directory.path);
  const size = bytes.readUInt16BE(16);
  const page = Math.floor(keyOf(bytes, 261) / size) * size;
  // After the header of 8 bytes, a page has a list of its rows with two bytes each.
  const lastRow = page + 8 + 2 * (bytes.readUInt16BE(page + 3) - 1);
  bytes.copy(bytes, lastRow, lastRow - 6, lastRow - 4);
  fs.writeFileSync(path.join(directory.path, DATABASE_FILE), bytes);
  await using store = await openStore(directory.path);
  for (const limit of [1, 2, 7, 1000])
    expect(readAll(store, { name: 'runtime' }, limit)).toBe('storage_damaged');
});

test('A record with a corrupt key or header is read unchanged, or fails with storage_damaged.', async () => {
  await using directory = tempDirectory();
  {
    await using store = await openStore(directory.path);
    await store.db.transact((tx) => {
      for (let i = 1; i <= 61; i++) store.notes.insert(tx, note(`sess_${i}`, { text: 'x' }));
    });
  }
  const bytes = fs.readFileSync(path.join(directory.path, DATABASE_FILE));
  const record = bytes.indexOf('{"id":"sess_60"');
  const found = new Set<unknown>();
  for (let at = record - 20; at < record; at++) {
    const damaged = Buffer.from(bytes);
    damaged[at]! |= 0x80;
    fs.writeFileSync(path.join(directory.path, DATABASE_FILE), damaged);
    await using store = await openStore(directory.path);
    for (const read of [
      () => store.db.peek((rx) => store.notes.page(rx, {}, 100)),
      () => store.db.peek((rx) => store.notes.where(rx, 'TRUE')),
    ])
      try {
        read();
      } catch (error) {
        found.add(error instanceof AppError ? error.code : error);
      }
  }
  expect([...found]).toEqual(['storage_damaged']);
});

test.each([
  ['lost', 'DELETE FROM sequence', 'cannot be read'],
  ['not a number', "UPDATE sequence SET last_seq = 'x'", 'cannot be read'],
  ['zero', 'UPDATE sequence SET last_seq = 0', 'is 0, but an event has 201'],
  ['one too small', 'UPDATE sequence SET last_seq = 260', 'is 260, but an event has 261'],
])(
  'A start is refused if the last sequence number is %s, because its events would be invisible.',
  async (_, sql, fault) => {
    await using directory = tempDirectory();
    await storedBytes(directory.path);
    const file = path.join(directory.path, DATABASE_FILE);
    await change(directory.path, sql);
    const before = fs.readFileSync(file);
    await expectError(openStore(directory.path), 'storage_damaged', new RegExp(fault));
    expect(fs.readFileSync(file).equals(before)).toBe(true);
  },
);

test('A start is not refused if the last sequence number is greater than each event has, because numbers may be skipped.', async () => {
  await using directory = tempDirectory();
  await storedBytes(directory.path);
  await change(directory.path, 'UPDATE sequence SET last_seq = 300');
  await using store = await openStore(directory.path);
  expect(readAll(store, { name: 'runtime' }, 1000)).toHaveLength(EVENTS);
});
