import { expect, test } from 'vitest';
import { expectError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import { namesOf } from '../../../src/fleet/names.ts';
import { NodeClient } from '../../../src/fleet/node-client.ts';
import { FleetServers } from '../../../src/fleet/servers.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { newUuid, random } from '../../../src/core/lib/ids.ts';
import { untilDone, type TestFleet, withFleet } from '../../support/fleet/cluster.ts';
import { type TestRuntime, withRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { shared } from '../../support/shared.ts';

const names = namesOf('test');

interface Nodes extends TestFleet {
  n1: TestRuntime;
  n2: TestRuntime;
}

/** Two servers in a fleet: n1 with the label `cpu`, n2 with `gpu`. */
const nodes = shared<Nodes>('nodes', (use) =>
  withFleet((fleet) =>
    withRuntime(
      (n1) => withRuntime((n2) => joined(fleet, n1, n2, use), optionsOf(fleet, 'n2', 'gpu')),
      optionsOf(fleet, 'n1', 'cpu'),
    ),
  ),
);

function optionsOf({ urls }: TestFleet, name: string, label: string) {
  return {
    config: { fleet: { url: urls, name, fleet: 'test', labels: [label] } },
    providers: [scriptedProvider((turn) => turn.end({ status: 'completed', error: null }))],
  };
}

async function joined(
  fleet: TestFleet,
  n1: TestRuntime,
  n2: TestRuntime,
  use: (nodes: Nodes) => Promise<void>,
): Promise<void> {
  for (const { client } of [n1, n2])
    await untilDone(async () => {
      const { fleet } = await client.call(endpoints.getHealth, {});
      if (fleet?.state !== 'member') throw new Error(fleet?.detail ?? 'no member');
    });
  await use({ ...fleet, n1, n2 });
}

function fleetContextOf(user: string, scope: 'admin' | 'read' = 'admin') {
  return {
    connection: nodes().connection,
    names,
    user,
    scope,
    clock: systemClock,
    newKey: newUuid,
  };
}

function asking(node: string, user = 'alice', scope: 'admin' | 'read' = 'admin') {
  return new NodeClient(fleetContextOf(user, scope), node);
}

const create = { body: { provider: 'acp', cwd: '/', title: 'one' } } as const;

test('A request through the fleet is answered as by HTTP, with the seq and the epoch of the log.', async () => {
  const { n1 } = nodes();
  const direct = await n1.client.ask(endpoints.getVersion, {});
  const through = await asking('n1').ask(endpoints.getVersion, {});
  expect(through.value).toEqual(direct.value);
  expect(through.headers).toMatchObject({ 'x-epoch': direct.headers['x-epoch'] });
});

test('A request through the fleet is done once for each key of a person, and for each person on their own.', async () => {
  const call = (user: string, key: string) =>
    asking('n1', user).ask(endpoints.createSession, create, undefined, key);
  const [first, again] = [await call('alice', 'k1'), await call('alice', 'k1')];
  expect(again.value).toEqual(first.value);
  expect(again.headers['idempotency-replayed']).toBe('true');
  expect((await call('bob', 'k1')).value.id).not.toBe(first.value.id);
  await expectError(
    asking('n1').call(
      endpoints.createSession,
      { body: { ...create.body, title: 'two' } },
      undefined,
      'k1',
    ),
    'idempotency_conflict',
  );
});

test('A request through the fleet has the rights of the scope in its subject, and its person decides.', async () => {
  const reading = asking('n1', 'bob', 'read');
  expect(await reading.call(endpoints.listSessions, { query: {} })).toEqual(expect.any(Array));
  await expectError(reading.call(endpoints.createSession, create), 'forbidden_scope');
  await expectError(reading.call(endpoints.listTokens, { query: {} }), 'forbidden_scope');
  expect(await asking('n1').call(endpoints.listTokens, { query: {} })).toEqual([]);
});

test('A request through the fleet is refused as by HTTP where it makes no sense, and where it is too large.', async () => {
  const own = asking('n1');
  const params = { session_id: 'sess_none' };
  await expectError(own.call(endpoints.getSession, { params }), 'not_found');
  const title = 'x'.repeat(300 * 1024);
  await expectError(
    own.call(endpoints.createSession, { body: { ...create.body, title } }),
    'payload_too_large',
  );
});

test('A request through the fleet of somebody who does not keep to the form gets an answer, and no stream begins.', async () => {
  const ask = async (text: string) =>
    (
      await nodes().connection.request(names.request('n1', 'admin', 'alice'), text, {
        timeout: 5000,
      })
    ).json<{ status: number; body: { code: string } }>();
  const malformed = [
    '',
    'x',
    '[]',
    'null',
    '{"method":"GET"}',
    '{"method":"GET","path":"http://x/"}',
  ];
  for (const text of [...malformed, '{"method":"A B","path":"/v1/version"}'])
    expect(await ask(text)).toMatchObject({ status: 400, body: { code: 'invalid' } });
  expect(await ask('{"method":"GET","path":"/v1/events/stream"}')).toMatchObject({
    status: 400,
    body: { code: 'invalid' },
  });
  expect(await ask('{"method":"POST","path":"/v1/storage/backup"}')).toMatchObject({
    status: 400,
  });
  expect(await ask('{"method":"GET","path":"/v1/nothing"}')).toMatchObject({ status: 404 });
  expect(await ask('{"method":"HEAD","path":"/v1/version"}')).toMatchObject({
    status: 200,
    body: null,
  });
});

test('A request through the fleet is left alone where its answer is wanted elsewhere than in an inbox: nobody speaks as the node.', async () => {
  const { connection } = nodes();
  const written: string[] = [];
  connection.subscribe('elsewhere', {
    callback: (_error, { subject }) => void written.push(subject),
  });
  const subject = names.request('n1', 'read', 'bob');
  connection.publish(subject, '{"method":"GET","path":"/v1/version"}', { reply: 'elsewhere' });
  // The node takes requests in their order, and answers both by the same way.
  await asking('n1', 'bob', 'read').call(endpoints.getVersion, {});
  await connection.flush();
  expect(written).toEqual([]);
});

test('A request through the fleet cannot be made over HTTP: its headers do not authenticate anybody there.', async () => {
  const { url } = nodes().n1;
  const answer = await fetch(`${url}/v1/version`, { headers: { authorization: 'fleet:alice' } });
  expect(answer.status).toBe(401);
});

test('A request through the fleet to a node that is not there says its name, and that nothing was done.', async () => {
  await expectError(
    asking('n9').call(endpoints.getVersion, {}),
    'unreachable',
    '"n9" is unreachable, so the request was not executed',
  );
});

test('A request through the fleet can be followed: the events of a session come as they do over HTTP.', async () => {
  const own = asking('n1');
  const { id } = await own.call(endpoints.createSession, create);
  const over = new AbortController();
  const kinds: string[] = [];
  const send = { params: { session_id: id }, body: { input: [{ type: 'text', text: 'go' }] } };
  await own.call(endpoints.sendTurn, send as never);
  for await (const one of own.streamEvents({ sessionId: id }, 0, over.signal)) {
    if ('kind' in one) kinds.push(one.kind);
    if (kinds.at(-1) === 'turn.completed') break;
  }
  const direct = await nodes().n1.client.call(endpoints.replaySessionEvents, {
    params: { session_id: id },
    query: { limit: 100 },
  });
  expect(kinds).toEqual(direct.map(({ kind }) => kind));
});

const placing = (labels: string[]) => new FleetServers(fleetContextOf('alice'), { labels, random });
const place = async (labels: string[], key?: string) =>
  (await placing(labels).first()).client?.call(endpoints.createSession, create, undefined, key);

test('A place for a session is on a node with the labels.', async () => {
  const session = await place(['gpu']);
  const found = await nodes().n2.client.call(endpoints.getSession, {
    params: { session_id: session?.id ?? '' },
  });
  expect(found.id).toBe(session?.id);
  await expectError(place(['gpu', 'cpu']), 'too_many');
});

test('A place for a session is kept under the key: clients that repeat a request get one session, wherever it is.', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => place([], 'one-key')));
  expect(new Set(all.map((one) => one?.id)).size).toBe(1);
});

test('A place for a session is on each of two nodes that have room, sooner or later.', async () => {
  const servers = placing([]);
  const found = new Set<string>();
  for (let i = 0; found.size < 2 && i < 100; i++) {
    const session = await place([]);
    found.add((await servers.serverOf(session?.id ?? '')).name);
  }
  expect([...found].toSorted()).toEqual(['n1', 'n2']);
});
