import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { aTurn } from '../../../support/records.ts';
import { message, tool, testSearch } from '../../../support/search.ts';

const far = { limit: 100 };
const hostile = [
  '"',
  '""',
  "'; DROP TABLE docs; --",
  'NEAR/3 (',
  'a AND OR NOT',
  'docid:1',
  'words:x',
  '*',
  '((((',
  '\u0000',
  '\ud800',
  '💥'.repeat(500),
  '漢'.repeat(64),
  '{"a":1}',
  '\ue000kprompt',
  'x'.repeat(2000),
  `${'"'.repeat(999)}x`,
];

test('A search finds prompts, answers, tool calls and titles, the newest first.', async () => {
  const { open, say, find, page } = await testSearch();
  await open('sess_a', { title: 'the login page', cwd: '/work/a' });
  const turn = await say(
    'sess_a',
    'fix the login',
    tool('Run a command', { command: 'grep -rn login src', cwd: null }, 'login login'),
    { kind: 'reasoning', text: 'the login is hard' },
    message('The **login** works.'),
  );
  expect(await find('login')).toEqual([
    'The **[login]** works.',
    'Run a command grep -rn [login] src',
    'fix the [login]',
    'the [login] page',
  ]);
  const { records } = await page({ q: 'works' });
  expect(records).toEqual([
    {
      kind: 'answer',
      session_id: 'sess_a',
      turn_id: turn,
      item_id: expect.stringMatching(/^item_/),
      session_title: 'the login page',
      session_status: 'ready',
      provider: 'acp',
      cwd: '/work/a',
      created_at: expect.any(Number),
      text: 'The **login** works.',
      marks: [{ start: 14, end: 19 }],
      url: `/v1/sessions/sess_a/turns/${turn}`,
    },
  ]);
});

test('A search finds new prompts at once, answers once they are complete, and only the current title.', async () => {
  const { db, store, open, say, find, change } = await testSearch();
  const session = await open('sess_a', { title: 'old name' });
  await say('sess_a', 'one');
  expect(await find('one')).toEqual(['[one]']);
  await say('sess_a', 'two', message('', { item_id: 'grows', status: 'open' }));
  expect(await find('two')).toEqual(['[two]']);
  await change({ ...session, title: 'new name', updated_at: 5000 });
  const whole = 'and now it is whole';
  await db.transact((tx) => {
    const item = store.items.get(tx, 'grows');
    if (item) store.items.update(tx, { ...item, status: 'completed', text: whole });
  });
  expect(await find('whole')).toEqual(['and now it is [whole]']);
  expect(await find('name')).toEqual(['new [name]']);
  expect(await find('old')).toEqual([]);
});

test('A search can be limited by kind, session, team, provider, directory and time, and needs no words.', async () => {
  const { open, say, find } = await testSearch({
    teams: { agentsOf: () => ['sess_a', 'sess_c'] },
  });
  await open('sess_a', { cwd: '/work/a' });
  await open('sess_b', { cwd: '/work/a/deep', provider: 'claude' });
  await open('sess_c', { cwd: '/work/ab' });
  for (const id of ['a', 'b', 'c']) await say(`sess_${id}`, `say ${id}`, message(`did ${id}`));
  const of = (query: object) => find('say', query);
  expect(await of({ kind: 'answer' })).toEqual([]);
  expect(await of({ session_id: 'sess_b' })).toEqual(['[say] b']);
  expect(await of({ team_id: 'team' })).toEqual(['[say] c', '[say] a']);
  expect(await of({ team_id: 'team', session_id: 'sess_b' })).toEqual([]);
  expect(await of({ provider: 'claude' })).toEqual(['[say] b']);
  expect(await of({ cwd: '/work/a/' })).toEqual(['[say] b', '[say] a']);
  expect(await of({ cwd: '/' })).toHaveLength(3);
  expect(await of({ since: 1008 })).toEqual(['[say] c']);
  expect(await find(undefined as never, { kind: 'answer' })).toEqual(['did c', 'did b', 'did a']);
  await expect(of({ session_id: 'sess_none' })).rejects.toMatchObject({ code: 'not_found' });
});

test('A search can order its results by relevance.', async () => {
  const { open, say, find } = await testSearch();
  await open('sess_a', { title: 'cache' });
  await say('sess_a', 'the cache of the cache is a cache');
  await say('sess_a', `${'many words '.repeat(200)} cache`);
  expect((await find('cache', { order: 'best' }))[0]).toBe('[cache]');
  expect((await find('cache', { order: 'best' }))[1]).toMatch(/^the \[cache\]/);
});

test('The pages of a search together have each result once.', async () => {
  const { open, say, page, built } = await testSearch();
  await open('sess_a');
  for (let i = 0; i < 57; i++) await say('sess_a', `word ${i}`);
  await built();
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const { records, nextCursor } = await page({ q: 'word', limit: 10, cursor });
    seen.push(...records.map(({ text }) => text));
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined);
  expect(seen).toEqual(Array.from({ length: 57 }, (_, i) => `word ${56 - i}`));
});

test('A search result has no control characters and no hidden characters.', async () => {
  const { open, say, find } = await testSearch();
  await open('sess_a');
  await say('sess_a', 'a \u001b[31mred\u001b[0m\u0007 \u202eword\u0000\r\nhere');
  expect(await find('word')).toEqual(['a red [word] here']);
  expect(await find('31m')).toEqual([]);
});

test('Any search is answered or refused.', async () => {
  const { open, say, page } = await testSearch();
  await open('sess_a');
  await say('sess_a', 'nothing of this');
  for (const q of hostile) {
    const answer = await page({ q }).catch((error: unknown) => (error as { code?: string }).code);
    if (typeof answer === 'string') expect([q, answer]).toEqual([q, 'invalid']);
    else expect([q, answer]).toEqual([q, { records: [], nextCursor: null }]);
  }
});

test('A deleted text is not found, although the index still has its words.', async () => {
  const { open, say, find, change, db, store } = await testSearch();
  const session = await open('sess_a', { title: 'gone soon', status: 'closed', closed_at: 1 });
  const turn_id = await say('sess_a', 'gone', message('gone, too'));
  await open('sess_b');
  await say('sess_b', 'gone and stays');
  expect(await find('gone')).toHaveLength(4);
  await db.transact((tx) => void store.trimTurns(tx, 'sess_a', 10));
  expect(await find('gone')).toEqual(['[gone] and stays', '[gone] soon']);
  expect(turn_id).toBeTruthy();
  await change({ ...session, trimmed: true });
  expect(await find('gone')).toEqual(['[gone] and stays']);
});

/** Whether a file is still the same one after `work`. */
async function keeps(file: string, work: () => Promise<void>): Promise<boolean> {
  const fd = fs.openSync(file, 'r');
  try {
    await work();
    return fs.fstatSync(fd).ino === fs.statSync(file).ino;
  } finally {
    fs.closeSync(fd);
  }
}

test('The index exists only after the first search, and is built again after its deletion.', async () => {
  const { directory, service, open, say, find } = await testSearch();
  const file = path.join(directory, 'search.cadre');
  await open('sess_a');
  await say('sess_a', 'one');
  service.changed();
  expect(fs.existsSync(file)).toBe(false);
  expect(service.status()).toMatchObject({ state: 'off', bytes: 0 });
  expect(await find('one')).toHaveLength(1);
  expect(service.status()).toMatchObject({ state: 'ready', documents: 1, done: 1 });
  expect(await service.drop()).toMatchObject({ state: 'off', documents: 0 });
  expect(fs.readdirSync(directory).filter((name) => name.startsWith('search'))).toEqual([]);
  expect(await find('one')).toHaveLength(1);
});

test('The index continues after a restart.', async () => {
  const { restart, open, say, find, directory } = await testSearch();
  const file = path.join(directory, 'search.cadre');
  await open('sess_a');
  await say('sess_a', 'one');
  await find('one');
  const isKept = async () => {
    await restart();
    await say('sess_a', 'two');
    expect(await find('one')).toHaveLength(1);
    expect(await find('two')).toHaveLength(1);
    // It is closed in order, so the machine may be started again.
    await restart({ bootId: 'another' });
    expect(await find('one')).toHaveLength(1);
  };
  expect(await keeps(file, isKept)).toBe(true);
});

test('The index survives a killed server, but not a crash of the machine.', async () => {
  const { restart, open, say, find, directory } = await testSearch();
  await open('sess_a');
  for (let i = 0; i < 50; i++) await say('sess_a', `one of ${i}`);
  await find('one');
  // A killed server leaves its files as they are while it runs.
  const left = path.join(directory, 'left');
  fs.mkdirSync(left);
  const files = fs.readdirSync(directory).filter((name) => name.startsWith('search.'));
  expect(files).toContain('search.cadre-wal');
  for (const name of files) fs.copyFileSync(path.join(directory, name), path.join(left, name));
  const again = path.join(directory, 'again');
  fs.cpSync(left, again, { recursive: true });
  const beginIn = async (place: string, bootId: string) => {
    await restart({ directory: place, bootId });
    expect(await find('one', far)).toHaveLength(50);
  };
  const indexIn = (place: string) => path.join(place, 'search.cadre');
  expect(await keeps(indexIn(left), () => beginIn(left, 'boot'))).toBe(true);
  expect(await keeps(indexIn(again), () => beginIn(again, 'another'))).toBe(false);
});

test('A corrupt index is built again, before a search and during one.', async () => {
  const { restart, open, say, find, directory, service } = await testSearch();
  const file = path.join(directory, 'search.cadre');
  await open('sess_a');
  for (let i = 0; i < 300; i++) await say('sess_a', `one of ${i}`);
  expect(await find('one', far)).toHaveLength(100);
  await service.stop();
  fs.writeFileSync(file, 'no database at all, but a text of some length '.repeat(1000));
  await restart();
  expect(await find('one', far)).toHaveLength(100);
});

test('The index is built in steps from the newest texts to the oldest, until it has all texts.', async () => {
  const { db, store, open, page, built, service } = await testSearch({ shardTexts: 256 });
  await open('sess_a');
  await db.transact((tx) => {
    for (let i = 1; i <= 3000; i++) {
      const input = [{ type: 'text' as const, text: i % 300 === 0 ? `rare ${i}` : `${i}` }];
      const turn = { session_id: 'sess_a', turn_id: `t${i}`, input, accepted_at: i };
      store.turns.insert(tx, aTurn(turn));
    }
  });
  expect((await page({ q: '2999' })).records).toHaveLength(1);
  expect(service.status()).toMatchObject({ state: 'building', back_to: expect.any(Number) });
  await built();
  expect(service.status()).toMatchObject({ documents: 3000, done: 1, back_to: null });
  const rare = await page({ q: 'rare' });
  expect(rare.records.map(({ created_at }) => created_at)).toEqual(
    Array.from({ length: 10 }, (_, i) => 3000 - i * 300),
  );
});
