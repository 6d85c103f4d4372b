import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { RecordTable } from '../../../src/core/store/records.ts';
import { type Note, note, openStore, query, DATABASE_FILE } from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';

type Kept = Note & Record<string, unknown>;

test('Sessions of an earlier format get the fields that users set, and none has news.', async () => {
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
      muted: false,
      seen_seq: 0,
      news_seq: 0,
      last_activity_at: 7,
      last_words: null,
      agent: 'default',
      agent_mode: null,
      agent_asks: null,
      provider_defaults: null,
    });
  expect(() => read('damaged')).toThrow(expect.objectContaining({ code: 'storage_damaged' }));
  expect(fs.existsSync(path.join(directory.path, `${DATABASE_FILE}.before-v10`))).toBe(true);
});

test('Sessions of an earlier format get the agent default if their provider is acp, and none otherwise.', async () => {
  await using directory = tempDirectory();
  const old = [
    { id: 'one', provider: 'acp' },
    { id: 'two', provider: 'claude' },
  ];
  {
    await using store = await openStore(directory.path);
    const table = new RecordTable<(typeof old)[0]>(store.db, 'sessions', ({ id }) => id);
    await store.db.transact((tx) => old.forEach((one) => table.insert(tx, one)));
    query(store.db, 'PRAGMA user_version = 12');
  }
  await using store = await openStore(directory.path);
  const table = new RecordTable<(typeof old)[0]>(store.db, 'sessions', ({ id }) => id);
  const read = (id: string) => store.db.peek((rx) => table.get(rx, id));
  expect(read('one')).toMatchObject({ ...old[0], agent: 'default' });
  expect(read('two')).toMatchObject({ ...old[1], agent: null });
});

test('Approvals of an earlier format get the fields that they lack, and keep those that they have.', async () => {
  await using directory = tempDirectory();
  const common = { details: [{ type: 'command' }], scopes: ['once', 'session'], scope: 'session' };
  const old = [
    { id: 'one', status: 'accepted' },
    { id: 'two', status: 'accepted', ...common, session_allows: 'Always' },
  ];
  {
    await using store = await openStore(directory.path);
    const table = new RecordTable<(typeof old)[0]>(store.db, 'approvals', ({ id }) => id);
    await store.db.transact((tx) => old.forEach((one) => table.insert(tx, one)));
    query(store.db, 'PRAGMA user_version = 11');
  }
  await using store = await openStore(directory.path);
  const table = new RecordTable<(typeof old)[0]>(store.db, 'approvals', ({ id }) => id);
  const read = (id: string) => store.db.peek((rx) => table.get(rx, id));
  const added = { details: [], scopes: ['once'], session_allows: null, scope: 'once' };
  expect(read('one')).toEqual({ ...old[0], ...added });
  expect(read('two')).toEqual(old[1]);
});

test('The mode in which an acp agent of an earlier format started becomes its agent mode.', async () => {
  await using directory = tempDirectory();
  const began = { permission_mode: 'build', model: null, thinking_effort: null };
  const old = [
    { id: 'one', provider: 'acp', agent: 'default', muted: false, provider_defaults: began },
    { id: 'two', provider: 'codex', agent: null, muted: false, provider_defaults: began },
  ];
  {
    await using store = await openStore(directory.path);
    const sessions = new RecordTable<(typeof old)[0]>(store.db, 'sessions', ({ id }) => id);
    const turns = new RecordTable<{ turn_id: string }>(store.db, 'turns', ({ turn_id: id }) => id);
    await store.db.transact((tx) => {
      for (const one of old) sessions.insert(tx, one);
      turns.insert(tx, { turn_id: 'turn_1' });
    });
    query(store.db, 'PRAGMA user_version = 13');
  }
  await using store = await openStore(directory.path);
  const sessions = new RecordTable<(typeof old)[0]>(store.db, 'sessions', ({ id }) => id);
  const turns = new RecordTable<{ turn_id: string }>(store.db, 'turns', ({ turn_id: id }) => id);
  const read = (id: string) => store.db.peek((rx) => sessions.get(rx, id));
  const unknown = { agent_mode: null, agent_asks: null };
  expect(read('one')).toEqual({
    ...old[0],
    ...unknown,
    provider_defaults: { ...began, agent_mode: 'build' },
  });
  expect(read('two')).toEqual({
    ...old[1],
    ...unknown,
    provider_defaults: { ...began, agent_mode: null },
  });
  expect(store.db.peek((rx) => turns.get(rx, 'turn_1'))).toMatchObject({ agent_mode: null });
});

test('Approvals of an earlier format get no details, and the scope once.', async () => {
  await using directory = tempDirectory();
  const asked = { id: 'apr_1', status: 'pending', request: { command: 'make' } };
  const done = { ...asked, id: 'apr_2', status: 'accepted' };
  {
    await using store = await openStore(directory.path);
    const table = new RecordTable<typeof asked>(store.db, 'approvals', ({ id }) => id);
    await store.db.transact((tx) => [asked, done].forEach((one) => table.insert(tx, one)));
    query(store.db, 'PRAGMA user_version = 11');
  }
  await using store = await openStore(directory.path);
  const table = new RecordTable<typeof asked>(store.db, 'approvals', ({ id }) => id);
  const more = { details: [], scopes: ['once'], session_allows: null };
  const read = (id: string) => store.db.peek((rx) => table.get(rx, id));
  expect(read('apr_1')).toEqual({ ...asked, ...more, scope: null });
  expect(read('apr_2')).toEqual({ ...done, ...more, scope: 'once' });
});
