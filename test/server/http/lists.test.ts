import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import type { Session, Turn } from '../../../src/api/sessions.ts';
import { SessionStore } from '../../../src/server/conversations/sessions/store.ts';
import { aSession } from '../../support/records.ts';
import { type TestRuntime, withRuntime, testRuntime } from '../../support/runtime.ts';
import { openStore } from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';
import { scripted } from '../../support/scripted-provider.ts';
import { openSession, runTurn } from '../../support/turns.ts';
import { type Api, apiOf } from '../../support/http/request.ts';

const MIB = 1024 * 1024;

/** All pages of a list, by its cursors. */
async function pages<T>(api: Api, path: string): Promise<T[][]> {
  const found: T[][] = [];
  let cursor: string | undefined;
  do {
    const separator = path.includes('?') ? '&' : '?';
    const reply = await api(
      'GET',
      cursor === undefined ? path : `${path}${separator}cursor=${cursor}`,
    );
    expect(reply.status).toBe(200);
    found.push(reply.json() as T[]);
    cursor = reply.headers['x-next-cursor'] as string | undefined;
  } while (cursor !== undefined);
  return found;
}

test('A list is empty where there is nothing, without a cursor.', async () => {
  const given = await testRuntime();
  const reply = await apiOf(given)('GET', '/v1/sessions');
  expect(reply.json()).toEqual([]);
  expect(reply.headers['x-next-cursor']).toBeUndefined();
});

test('A list is newest first, `limit` at a time; its cursors lead through all of it, once.', async () => {
  const { given, client, directory } = await testRuntime(scripted());
  const made: string[] = [];
  for (let i = 0; i < 7; i++)
    made.push((await openSession(client, directory, { title: `${i}` })).id);
  const api = apiOf(given);
  const newestFirst = made.toReversed();
  for (const [limit, sizes] of [
    [3, [3, 3, 1]],
    [7, [7]],
    [1, [1, 1, 1, 1, 1, 1, 1]],
  ] as const) {
    const found = await pages<Session>(api, `/v1/sessions?limit=${limit}`);
    expect(found.map((page) => page.length)).toEqual(sizes);
    expect(found.flat().map(({ id }) => id)).toEqual(newestFirst);
  }
});

test('A list holds 100 where no limit is given.', async () => {
  const { given, client, directory } = await testRuntime(scripted());
  await Promise.all(Array.from({ length: 101 }, () => openSession(client, directory)));
  const found = await pages<Session>(apiOf(given), '/v1/sessions');
  expect(found.map((page) => page.length)).toEqual([100, 1]);
});

test('A list shows nothing twice and leaves nothing out while new records come.', async () => {
  const { given, client, directory } = await testRuntime(scripted());
  const old: string[] = [];
  for (let i = 0; i < 6; i++) old.push((await openSession(client, directory)).id);
  const api = apiOf(given);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const reply = await api('GET', `/v1/sessions?limit=2${cursor ? `&cursor=${cursor}` : ''}`);
    seen.push(...(reply.json() as Session[]).map(({ id }) => id));
    await openSession(client, directory);
    cursor = reply.headers['x-next-cursor'] as string | undefined;
  } while (cursor);
  expect(seen).toEqual(old.toReversed());
});

test('A list can be of one status, or of one provider; a value there is not is refused.', async () => {
  const { given, client, directory } = await testRuntime(scripted());
  const api = apiOf(given);
  const { id } = await openSession(client, directory);
  const ids = async (query: string) =>
    ((await api('GET', `/v1/sessions?${query}`)).json() as Session[]).map((one) => one.id);
  expect(await ids('status=ready&provider=acp')).toEqual([id]);
  expect(await ids('status=closed')).toEqual([]);
  expect(await ids('provider=codex')).toEqual([]);
  for (const query of ['status=open', 'provider=gpt', 'status=']) {
    const reply = await api('GET', `/v1/sessions?${query}`);
    expect(reply.status).toBe(400);
  }
});

test('A list of turns is of one session, newest first.', async () => {
  const { given, client, directory } = await testRuntime(scripted());
  const [mine, other] = [
    await openSession(client, directory),
    await openSession(client, directory),
  ];
  const sent: string[] = [];
  for (let i = 0; i < 3; i++) sent.push((await runTurn(client, mine.id, `${i}`)).turn.turn_id);
  await runTurn(client, other.id, 'other');
  const found = await pages<Turn>(apiOf(given), `/v1/sessions/${mine.id}/turns?limit=2`);
  expect(found.flat().map(({ turn_id }) => turn_id)).toEqual(sent.toReversed());
});

test('A list and a replay end at 8 MiB, return where the next page starts, and lead to everything.', () =>
  withStored(async (given, made) => {
    const api = apiOf(given);
    const found = await pages<Session>(api, '/v1/sessions?limit=500');
    expect(found.length).toBe(2);
    for (const page of found) expect(JSON.stringify(page).length).toBeLessThanOrEqual(8 * MIB);
    expect(found.flat().map(({ id }) => id)).toEqual(made.toReversed());

    const replayed: RuntimeEventRecord[] = [];
    let after: string | undefined = '0';
    let read = 0;
    while (after !== undefined) {
      const reply = await api('GET', `/v1/events?limit=10000&after_seq=${after}`);
      expect(reply.text.length).toBeLessThanOrEqual(8 * MIB);
      replayed.push(...(reply.json() as RuntimeEventRecord[]));
      after = reply.headers['x-next-after-seq'] as string | undefined;
      read++;
    }
    expect(read).toBe(2);
    expect(replayed.map(({ seq }) => seq)).toEqual(Array.from({ length: 36 }, (_, i) => i + 1));
  }));

/** Runs `check` on a runtime that finds more than 8 MiB of sessions; gives their ids in their order. */
async function withStored(
  check: (given: TestRuntime, made: string[]) => Promise<void>,
): Promise<void> {
  await using directory = tempDirectory('lists');
  const made = Array.from({ length: 34 }, (_, i) => `sess_${i}`);
  {
    await using store = await openStore(directory.path, { durability: 'normal' });
    const sessions = new SessionStore(store);
    const metadata = 'x'.repeat(250 * 1024);
    await store.db.transact((tx) => {
      for (const id of made) sessions.createSession(tx, aSession({ id, metadata }));
    });
  }
  await withRuntime((given) => check(given, made), { ...scripted(), directory: directory.path });
}

test('A replay is oldest first, after `after_seq`, at most `limit`, and returns where the next page starts.', async () => {
  const { given, client, directory } = await testRuntime(scripted());
  for (let i = 0; i < 8; i++) await openSession(client, directory);
  const api = apiOf(given);
  const replay = async (query: string) => {
    const reply = await api('GET', `/v1/events?${query}`);
    const seqs = (reply.json() as RuntimeEventRecord[]).map(({ seq }) => seq);
    return { seqs, next: reply.headers['x-next-after-seq'] };
  };
  expect(await replay('')).toEqual({ seqs: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], next: undefined });
  expect(await replay('after_seq=3&limit=4')).toEqual({ seqs: [4, 5, 6, 7], next: '7' });
  expect(await replay('after_seq=7')).toEqual({ seqs: [8, 9, 10], next: undefined });
  expect(await replay('after_seq=10')).toEqual({ seqs: [], next: undefined });
  expect(await replay('after_seq=9007199254740991')).toEqual({ seqs: [], next: undefined });
});

test('X-Epoch is on every answer to whoever may enter, and is the epoch of the version.', async () => {
  const given = await testRuntime(scripted());
  const api = apiOf(given);
  const { epoch } = (await api('GET', '/v1/version')).json() as { epoch: string };
  expect(epoch).toMatch(/^epoch_[0-9a-f]{32}$/);
  for (const path of ['/v1/sessions', '/v1/events', '/v1/health', '/v1/sessions/sess_nope']) {
    expect((await api('GET', path)).headers['x-epoch']).toBe(epoch);
  }
  const posted = await api('POST', '/v1/sessions', { body: { provider: 'acp' } });
  expect(posted.headers['x-epoch']).toBe(epoch);
});

test('X-Seq lets a client list and then follow without a hole: what the list lacks comes after it.', async () => {
  const { given, client, directory } = await testRuntime(scripted());
  const api = apiOf(given);
  const creating = Promise.all(Array.from({ length: 40 }, () => openSession(client, directory)));
  const readings: { listed: Set<string>; seq: number }[] = [];
  for (let i = 0; i < 20; i++) {
    const reply = await api('GET', '/v1/sessions?limit=500');
    const listed = new Set((reply.json() as Session[]).map(({ id }) => id));
    readings.push({ listed, seq: Number(reply.headers['x-seq']) });
  }
  const made = await creating;
  const events = (await api('GET', '/v1/events?limit=10000')).json() as RuntimeEventRecord[];
  for (const { listed, seq } of readings) {
    const later = events.filter((event) => event.seq > seq).map(({ session_id }) => session_id);
    const known = new Set([...listed, ...later]);
    expect(made.filter(({ id }) => !known.has(id))).toEqual([]);
  }
});

test('X-Seq of a list at rest is the newest seq.', async () => {
  const given = await testRuntime(scripted());
  await openSession(given.client, given.directory);
  const api = apiOf(given);
  for (const path of ['/v1/sessions', '/v1/events', '/v1/diagnostics']) {
    expect((await api('GET', path)).headers['x-seq']).toBe('3');
  }
});
