import { expect, onTestFinished, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { recordsOf } from '../../src/client/records-of.ts';
import type { FollowAll, FromServer, Servers } from '../../src/client/servers.ts';
import { serversOf } from '../../src/client/routed.ts';
import { AppError } from '../../src/api/errors.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import {
  openOn,
  sharedServers,
  type SeveralServers,
  testServers,
} from '../support/several-servers.ts';
import { openSession, runTurn } from '../support/turns.ts';

/** A client of all servers, which is closed when the test has finished. */
async function testAll(given: SeveralServers) {
  const client = await given.all();
  onTestFinished(() => client.close());
  const servers = serversOf(client);
  if (!servers) throw new Error('one server');
  return { client, servers };
}

const open = (given: SeveralServers, node: string, title: string) => openOn(given, node, { title });

/** Reads until so many events have come; answers with them as `node seq`, and the cursor after the last. */
async function read(servers: Servers, options: FollowAll, count = Infinity) {
  const stop = new AbortController();
  const following = servers.streamEvents(options, stop.signal);
  const found: string[] = [];
  const notices: FromServer[] = [];
  if (count > 0)
    for await (const one of following) {
      if ('notice' in one) notices.push(one);
      else found.push(`${one.node} ${one.event.seq}`);
      if (found.length >= count) break;
    }
  stop.abort();
  return { found, notices, cursor: following.cursor() };
}

const given = sharedServers(['laptop', 'gpu']);

test('Several servers are listed as one: the newest first, each record with its server, and no more than asked.', async () => {
  const one = await open(given(), 'laptop', 'one');
  const two = await open(given(), 'gpu', 'two');
  const three = await open(given(), 'laptop', 'three');
  const { client } = await testAll(given());
  const found = await client.call(endpoints.listSessions, { query: { limit: 3 } });
  expect(found).toMatchObject([
    { node: 'laptop', id: three.id },
    { node: 'gpu', id: two.id },
    { node: 'laptop', id: one.id },
  ]);
  const records = recordsOf((query) =>
    client.ask(endpoints.listSessions, { query: { ...query, limit: 1 } }),
  );
  const ids = await Array.fromAsync(records, ({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining([one.id, two.id, three.id]));
});

test('Several servers are each asked for the records that they have, and the first one for anything else.', async () => {
  const { id: session_id, title } = await open(given(), 'gpu', 'on gpu');
  const { client } = await testAll(given());
  const params = { session_id };
  expect(await client.call(endpoints.getSession, { params })).toMatchObject({ title });
  const body = { command: 'true', session_id };
  const { process } = await client.call(endpoints.createProcess, { body });
  const process_id = process.process_id;
  await given().client('gpu').call(endpoints.getProcess, { params: { process_id } });
  const fresh = await openSession(client, given().directory('laptop'));
  const there = { params: { session_id: fresh.id } };
  expect(await given().client('laptop').call(endpoints.getSession, there)).toEqual(fresh);
  await expect(
    client.call(endpoints.getSession, { params: { session_id: `sess_${'0'.repeat(32)}` } }),
  ).rejects.toMatchObject({ code: 'not_found' });
});

test('Several servers sum what their turns have used together, and each has its own budgets.', async () => {
  const used = async (node: string) => {
    const { id } = await open(given(), node, `used on ${node}`);
    await runTurn(given().client(node), id, 'usage 100 200000; say done');
    return id;
  };
  const ids = [await used('laptop'), await used('gpu')];
  const { client } = await testAll(given());
  const report = await client.call(endpoints.getUsage, { query: { by: 'session' } });
  expect(report.rows.map(({ key }) => key)).toEqual(expect.arrayContaining(ids));
  const byDay = await client.call(endpoints.getUsage, { query: { limit: 1 } });
  expect(byDay.rows[0]?.turns).toBeGreaterThanOrEqual(2);
  expect(byDay.total).toEqual(report.total);
  const body = { session_id: ids[1] ?? '', turns: 9 };
  const { id: budget_id } = await client.call(endpoints.setBudget, { body });
  const params = { params: { budget_id } };
  await given().client('gpu').call(endpoints.getBudget, params);
  expect(await client.call(endpoints.removeBudget, params)).toMatchObject({ id: budget_id });
});

test('Several servers are read with one cursor: each event once, and the events of a server in order.', async () => {
  await open(given(), 'laptop', 'a');
  await open(given(), 'gpu', 'b');
  const { servers } = await testAll(given());
  const all = await read(servers, { from: 'start', isStoredOnly: true });
  const first = await read(servers, { from: 'start' }, 5);
  const rest = await read(
    servers,
    { from: { cursor: first.cursor } },
    all.found.length - first.found.length,
  );
  const both = [...first.found, ...rest.found];
  for (const node of ['laptop', 'gpu']) {
    const of = (found: string[]) => found.filter((one) => one.startsWith(node));
    expect(of(both)).toEqual(of(all.found));
  }
  expect(rest.cursor).toBe(all.cursor);
});

test('Several servers are read by time where only what is stored is wanted, from a time on, and by kind.', async () => {
  const before = Date.now();
  for (const node of ['laptop', 'gpu', 'laptop']) await open(given(), node, 'timed');
  const { servers } = await testAll(given());
  const { found } = await read(servers, {
    from: { since: before },
    kinds: ['session.created'],
    isStoredOnly: true,
  });
  expect(found.map((one) => one.split(' ')[0])).toEqual(['laptop', 'gpu', 'laptop']);
});

test.each(['no JSON', '[]x', '{"laptop":{"seq":1}}', 'null'])(
  'Several servers refuse %s as a cursor.',
  async (cursor) => {
    const { servers } = await testAll(given());
    await expect(read(servers, { from: { cursor } })).rejects.toMatchObject({ code: 'usage' });
  },
);

test('Several servers refuse the cursor of another log, by the name of the server.', async () => {
  const { servers } = await testAll(given());
  const cursor = JSON.stringify({ gpu: { epoch: 'epoch_other', seq: 3 } });
  await expect(read(servers, { from: { cursor } })).rejects.toThrow(
    /does not match the event log of server gpu/,
  );
});

test('A server that is gone is said to be unreachable by its name, and listed is what it had.', async () => {
  const given = await testServers(['laptop', 'gpu']);
  const lost = await open(given, 'gpu', 'lost');
  const kept = await open(given, 'laptop', 'kept');
  const before = await testAll(given);
  await before.client.call(endpoints.listSessions, { query: {} });
  await given.stop('gpu');
  const { client } = await testAll(given);
  const found = await client.call(endpoints.listSessions, { query: {} });
  expect(found).toMatchObject([
    { node: 'laptop', id: kept.id },
    { node: 'gpu', id: lost.id, last_known_at: expect.any(Number) as number },
  ]);
  expect(found[0]).not.toHaveProperty('last_known_at');
  expect(client.remarks()).toEqual([
    expect.stringMatching(/^gpu is unreachable: no server answers at http/),
  ]);
  const failed = await client.call(endpoints.listSessions, { query: { status: 'failed' } });
  expect(failed).toEqual([]);
  const { client: other } = await testAll(given);
  const error = await other
    .call(endpoints.getSession, { params: { session_id: lost.id } })
    .catch((error: unknown) => error);
  expect(error).toBeInstanceOf(AppError);
  expect(error).toMatchObject({ code: 'unreachable' });
  expect((error as AppError).message).toMatch(/^gpu is unreachable/);
  await given.stop('laptop');
  const none = await testAll(given);
  await expect(none.client.call(endpoints.listSessions, { query: {} })).rejects.toThrow(
    /laptop is unreachable.*gpu is unreachable/,
  );
});

test('A server that is gone is followed again from where it was, as soon as it is back.', async () => {
  const given = await testServers(['laptop', 'gpu']);
  await given.stop('gpu');
  const { servers } = await testAll(given);
  const stop = new AbortController();
  const seen: string[] = [];
  const done = (async () => {
    const from = { kinds: ['session.created'], from: 'start' } as const;
    for await (const one of servers.streamEvents(from, stop.signal))
      seen.push('notice' in one ? `${one.node} ${one.notice.state}` : `${one.node} event`);
  })();
  await expectEventually(() => seen).toContain('gpu unreachable');
  await given.start('gpu');
  await open(given, 'gpu', 'first');
  await expectEventually(() => seen).toContain('gpu event');
  await given.stop('gpu');
  await given.start('gpu');
  await open(given, 'gpu', 'second');
  await expectEventually(() => seen.filter((one) => one === 'gpu event').length).toBe(2);
  stop.abort();
  await done;
  expect(seen.filter((one) => one.startsWith('gpu'))).toEqual([
    'gpu unreachable',
    'gpu reachable',
    'gpu event',
    'gpu unreachable',
    'gpu reachable',
    'gpu event',
  ]);
});
