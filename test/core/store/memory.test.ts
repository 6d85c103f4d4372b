import { expect, test, vi } from 'vitest';
import { loadHostedSqlite, type RawSqlite } from '../../../src/core/store/host/sqlite.ts';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import { pageOf } from '../../support/entries.ts';
import { eventDraft, freshStore } from '../../support/store.ts';

/** Returns the SQLite instance that all stores of a process share. */
async function sharedSqlite(directory: string): Promise<RawSqlite> {
  return (await loadHostedSqlite({ wasm: sqlWasm, directory })).sqlite;
}

test('A page of the log is correct even if the memory of SQLite moves during a read.', async () => {
  const { store, directory } = await freshStore();
  const { db, log } = store;
  await db.transact((tx) => [1, 2].map((n) => log.append(tx, eventDraft('sess_a', { n })).seq));
  const sqlite = await sharedSqlite(directory);
  const read = sqlite._sqlite3_column_text;
  using moving = vi.spyOn(sqlite, '_sqlite3_column_text').mockImplementation((row, column) => {
    // More than the free memory, so that the memory grows and all views of it are detached.
    sqlite._free(sqlite._malloc(32 * 1024 * 1024 * moving.mock.calls.length));
    return read(row, column);
  });
  const bounds = { after: 0, upTo: db.durableSeq, limit: 10, maxBytes: 1e6 };
  const page = pageOf(log, { name: 'runtime' }, bounds);
  expect(moving).toHaveBeenCalledTimes(4);
  expect(page.entries.map(({ seq, kind }) => [seq, kind])).toEqual([
    [1, 'session.updated'],
    [2, 'session.updated'],
  ]);
});

test('A statement that runs out of memory reports it, and runs once there is memory again.', async () => {
  const { store, directory } = await freshStore();
  const late = store.db.prepare<[number]>('SELECT 1');
  const run = () => store.db.peek((rx) => late.get(rx));
  const sqlite = await sharedSqlite(directory);
  using full = vi.spyOn(sqlite, '_malloc').mockReturnValue(0);
  expect(run).toThrow(/^SQLite is out of memory$/);
  full.mockRestore();
  expect(run()).toEqual([1]);
});

test('A run of a statement gets no value of the run before: what is null or missing is NULL.', async () => {
  const { store } = await freshStore();
  const both = store.db.prepare<[string | null, number | null]>('SELECT ?1, ?2');
  store.db.peek((rx) => {
    expect(both.get(rx, 'text', 1)).toEqual(['text', 1]);
    expect(both.get(rx, null, 2)).toEqual([null, 2]);
    expect(both.get(rx, 'text', null)).toEqual(['text', null]);
    expect(both.get(rx, '')).toEqual(['', null]);
    expect(both.get(rx)).toEqual([null, null]);
  });
});
