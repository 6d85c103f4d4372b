import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { RecordTable } from '../../src/store/records.ts';
import { type Note, note, openStore, query, DATABASE_FILE } from '../support/store.ts';
import { tempDirectory } from '../support/temp.ts';

type Kept = Note & Record<string, unknown>;

test('sessions of an earlier format get the fields that people keep with them, and nothing in them is new.', async () => {
  await using directory = tempDirectory();
  {
    await using store = await openStore(directory.path);
    const sessions = store.notes as unknown as RecordTable<Kept>;
    await store.db.transact((tx) => {
      for (const id of ['old', 'damaged', 'other'])
        sessions.insert(tx, { ...note(id, { text: `said by ${id}` }), updated_at: 7 });
    });
    const damage = store.db.prepare(
      "UPDATE sessions SET record = replace(record, 'said', 'sang') WHERE n = 2",
    );
    await store.db.transact((tx) => damage.run(tx));
    query(store.db, 'PRAGMA user_version = 9');
  }
  await using store = await openStore(directory.path);
  const read = (id: string) => store.db.peek((rx) => store.notes.get(rx, id));
  for (const id of ['old', 'other'])
    expect(read(id)).toEqual({
      ...note(id, { text: `said by ${id}` }),
      updated_at: 7,
      pinned: false,
      snoozed_until: null,
      seen_seq: 0,
      news_seq: 0,
      last_activity_at: 7,
      last_words: null,
    });
  expect(() => read('damaged')).toThrow(expect.objectContaining({ code: 'storage_damaged' }));
  expect(fs.existsSync(path.join(directory.path, `${DATABASE_FILE}.before-v10`))).toBe(true);
});
