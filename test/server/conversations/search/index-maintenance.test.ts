import fs from 'node:fs';
import { expect, test } from 'vitest';
import { sqlWasm } from '../../../../src/core/lib/self.ts';
import { yieldToEventLoop } from '../../../../src/core/lib/slices.ts';
import { IndexFile } from '../../../../src/server/conversations/search/index-file.ts';
import { Indexer } from '../../../../src/server/conversations/search/indexer.ts';
import { SessionStore } from '../../../../src/server/conversations/sessions/store.ts';
import { Rows } from '../../../../src/server/conversations/search/rows.ts';
import { SideFile } from '../../../../src/core/store/side-file.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { aTurn } from '../../../support/records.ts';
import type { SearchDeps } from '../../../../src/server/conversations/search/service.ts';
import { message, type TestSearch, testSearch } from '../../../support/search.ts';
import { FullDisk } from '../../../support/sessions/faults.ts';

/** Stores so many prompts of a session at once. */
function fill({ db, store }: TestSearch, session_id: string, count: number): Promise<void> {
  return db.transact((tx) => {
    for (let i = 1; i <= count; i++) {
      const input = [{ type: 'text' as const, text: `filled ${i}` }];
      const turn_id = `${session_id}_${i}`;
      store.turns.insert(tx, aTurn({ session_id, turn_id, input, accepted_at: 2000 + i }));
    }
  });
}

/** Opens a search on a clock that only the test advances. */
async function searchOnStillClock(): Promise<[TestSearch, ManualClock]> {
  const clock = new ManualClock();
  return [await testSearch({ clock }), clock];
}

/** Damages what a search reads of the index first, and nothing that is read when it is opened. */
async function damage({ directory, service }: TestSearch): Promise<void> {
  await service.stop();
  const file = await SideFile.open({ directory, name: 'search.cadre', wasm: sqlWasm });
  const [row] = file.all<[number]>("SELECT rootpage FROM sqlite_schema WHERE name LIKE '%segdir'");
  const [size] = file.all<[number]>('PRAGMA page_size');
  file.close();
  const fd = fs.openSync(`${directory}/search.cadre`, 'r+');
  fs.writeSync(
    fd,
    Buffer.alloc(size?.[0] ?? 0, 0xff),
    0,
    undefined,
    ((row?.[0] ?? 0) - 1) * (size?.[0] ?? 0),
  );
  fs.closeSync(fd);
}

test.each([
  ['the time of a text', 'UPDATE docs SET at = 115610496135635'],
  ['the place of a text', 'UPDATE docs SET source = source + 4'],
  ['a text without a row', 'DELETE FROM docs WHERE doc % 2 = 0'],
  ['the position up to which rows were read', "UPDATE places SET n = n + 1 WHERE name = 'turns'"],
  ['the newest time of a table', 'UPDATE shards SET newest = 1'],
  ['a missing table', 'DROP TABLE docs'],
])('A changed index is built again, with one line in the log: %s.', async (_, sql) => {
  const lines: string[] = [];
  const logger = {
    warn: (_fields: object, line: string) => lines.push(line),
  } as unknown as SearchDeps['logger'];
  const { open, say, page, built, restart, service, directory } = await testSearch({ logger });
  await open('sess_a', { title: 'the apple' });
  for (let i = 0; i < 20; i++) await say('sess_a', `apple ${i}`);
  await built();
  const before = await page({ q: 'apple', limit: 100, since: 5 });
  expect(before.records).toHaveLength(21);
  await service.stop();
  const file = await SideFile.open({ directory, name: 'search.cadre', wasm: sqlWasm });
  file.exec(sql);
  file.close();
  await restart();
  await say('sess_a', 'pear');
  expect(await page({ q: 'apple', limit: 100, since: 5 })).toEqual(before);
  expect((await page({ q: 'pear' })).records).toHaveLength(1);
  expect(lines).toEqual(['the search index is damaged: rebuilding it']);
});

test('A full table of the index whose words were changed is found by the maintenance.', async () => {
  const given = await testSearch();
  const { open, db, store, directory } = given;
  await open('sess_a');
  await fill(given, 'sess_a', 500);
  const onDamage = (error: unknown) => expect.fail(String(error));
  const maintenance = async () => {
    const options = { directory, wasm: sqlWasm, bootId: 'boot', epoch: db.epoch };
    const index = await IndexFile.open({ ...options, shardTexts: 64, onDamage });
    try {
      const rows = new Rows({ db, store });
      const indexer = new Indexer({ rows, index, clock: new ManualClock() });
      await indexer.begin();
      while (await indexer.step());
    } finally {
      index.close();
    }
  };
  /** Runs SQL on the index, as another program would. */
  const onIndex = async (sql: string) => {
    const file = await SideFile.open({ directory, name: 'search.cadre', wasm: sqlWasm });
    const rows = file.all<[number]>(sql);
    file.close();
    return rows;
  };
  await maintenance();
  // The oldest of eight tables may get more texts.
  const sums = await onIndex('SELECT shard FROM shard_sums ORDER BY shard');
  expect(sums).toHaveLength(7);
  await maintenance();
  const newest = sums.at(-1)?.[0];
  await onIndex(
    `UPDATE w${newest}_segdir SET root = CAST(replace(CAST(root AS TEXT), 'filled', 'fillet') AS BLOB)`,
  );
  await expect(maintenance()).rejects.toThrow(
    `the words of table ${newest} are not what was written`,
  );
});

test('An index that is deleted while it is built is not begun again by the build.', async () => {
  const [given, clock] = await searchOnStillClock();
  const { service, open, page, directory } = given;
  await open('sess_a');
  await fill(given, 'sess_a', 3000);
  await page({ q: 'filled' });
  clock.advance(0);
  expect(service.status().state).toBe('building');
  expect(await service.drop()).toMatchObject({ state: 'off' });
  service.changed();
  for (let i = 0; i < 50; i++) await yieldToEventLoop();
  clock.advance(10_000);
  for (let i = 0; i < 50; i++) await yieldToEventLoop();
  await service.stop();
  expect(fs.readdirSync(directory).filter((name) => name.startsWith('search'))).toEqual([]);
});

test('The index is kept up to date without another search.', async () => {
  const [{ service, open, say, find }, clock] = await searchOnStillClock();
  await open('sess_a');
  await say('sess_a', 'one');
  await find('one');
  await say('sess_a', 'two');
  service.changed();
  expect(service.status().documents).toBe(1);
  await expectEventually(() => {
    clock.advance(2000);
    return service.status().documents;
  }).toBe(2);
});

test('An index is built again if only a search finds its corruption.', async () => {
  const given = await testSearch();
  await given.open('sess_a');
  await fill(given, 'sess_a', 300);
  await given.built();
  await damage(given);
  await given.restart();
  expect(await given.find('filled', { limit: 100 })).toHaveLength(100);
});

test('An index is built again if its corruption is found in the background.', async () => {
  const [given, clock] = await searchOnStillClock();
  const { open, say, find, built, restart } = given;
  await built();
  await open('sess_a');
  await say('sess_a', 'one');
  await find('one');
  await damage(given);
  await restart();
  await say('sess_a', 'two');
  given.service.resume();
  clock.advance(0);
  await expectEventually(() => {
    clock.advance(2000);
    return given.service.status();
  }).toMatchObject({ state: 'ready', documents: 2 });
});

test('An index answers with its contents while the disk is full, survives a restart then, and continues afterwards.', async () => {
  const { open, say, find, restart, built, service, directory } = await testSearch();
  using disk = new FullDisk(/\/search\.cadre(-wal)?$/);
  await open('sess_a');
  await say('sess_a', 'one of them');
  await built();
  const { ino } = fs.statSync(`${directory}/search.cadre`);
  disk.full = true;
  await say('sess_a', 'another one');
  expect(await find('one')).toEqual(['[one] of them']);
  expect(service.status()).toMatchObject({
    state: 'waiting',
    detail: 'the disk is full: free some space',
  });
  await restart();
  expect(await find('one')).toEqual(['[one] of them']);
  disk.full = false;
  expect(await find('one')).toEqual(['another [one]', '[one] of them']);
  expect(fs.statSync(`${directory}/search.cadre`).ino).toBe(ino);
});

test('The index drops tables whose sessions are all trimmed.', async () => {
  const given = await testSearch();
  const { db, store, directory, open, change } = given;
  const session = await open('sess_a');
  await open('sess_b');
  await fill(given, 'sess_a', 100);
  await fill(given, 'sess_b', 100);
  const options = { directory, wasm: sqlWasm, bootId: 'boot', epoch: db.epoch };
  const onDamage = (error: unknown) => expect.fail(String(error));
  const index = await IndexFile.open({ ...options, shardTexts: 16, onDamage });
  const rows = new Rows({ db, store });
  const read = async () => {
    const indexer = new Indexer({ rows, index, clock: new ManualClock() });
    await indexer.begin();
    while (await indexer.step());
    return index.shardsSince(0).length;
  };
  const before = await read();
  await change({ ...session, trimmed: true });
  const after = await read();
  index.close();
  expect([before, after]).toEqual([13, 8]);
});

test('A text is found although retention has deleted the newest items before it.', async () => {
  const { open, say, find, built, db, store } = await testSearch();
  await open('sess_a');
  for (let i = 0; i < 5; i++) await say('sess_a', `prompt ${i}`, message(`answer ${i}`));
  await built();
  await db.transact((tx) => store.items.deleteWhere(tx, 'TRUE'));
  await open('sess_b');
  await say('sess_b', 'go on', message('the apple'));
  expect(await find('apple')).toEqual(['the [apple]']);
});

test.each([
  ['turns', "'$.input'"],
  ['items', "'$.created_at', '$.completed_at'"],
  ['sessions', "'$.created_at'"],
])(
  'The index is built and kept up to date although a row of the table %s is damaged.',
  async (table, fields) => {
    const { open, say, find, built, db, service } = await testSearch();
    const damaged = db.prepare(
      `UPDATE ${table} SET record = json_remove(record, ${fields}) WHERE n = 2`,
    );
    for (const id of ['sess_a', 'sess_b', 'sess_c']) {
      await open(id, { title: `the tree of ${id}` });
      await say(id, 'pear', message('plum'));
    }
    await db.transact((tx) => damaged.run(tx));
    await built();
    await say('sess_c', 'apple');
    expect(await find('apple')).toEqual(['[apple]']);
    expect(service.status()).toMatchObject({ state: 'ready', detail: null });
  },
);

test('A search passes over the texts of a damaged session.', async () => {
  const { open, say, find, built, db, log, restart } = await testSearch();
  for (const id of ['sess_a', 'sess_b']) {
    await open(id);
    await say(id, `apple of ${id}`);
  }
  await built();
  const damage = db.prepare('UPDATE sessions SET sum = sum + 1 WHERE n = 1');
  await db.transact((tx) => damage.run(tx));
  await restart({ store: new SessionStore({ db, log }) });
  expect(await find('apple')).toEqual(['[apple] of sess_b']);
});
