import { jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { Bucket } from '../../../src/fleet/bucket.ts';
import { connectTo } from '../../../src/fleet/connection.ts';
import { NatsReaderStream } from '../../../src/fleet/nats-reader-stream.ts';
import { NodeClient } from '../../../src/fleet/node-client.ts';
import { livingNodes } from '../../../src/fleet/heartbeat.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { names, securedFleet } from './secured.ts';

const secured = securedFleet();

/** The reaction of NATS to a request: `done` or `refused`. */
async function tried(
  who: string,
  work: (own: NatsConnection) => Promise<unknown>,
): Promise<string> {
  const connection = await secured().as(who);
  const refused = Promise.withResolvers<string>();
  void (async () => {
    for await (const { type } of connection.status())
      if (type === 'error') refused.resolve('refused');
  })();
  try {
    const done = work(connection).then(async () => {
      // A refusal of what has no answer comes before the answer to this.
      await connection.flush();
      await new Promise(setImmediate);
      return 'done';
    });
    return await Promise.race([done, refused.promise]);
  } catch {
    return 'refused';
  } finally {
    await connection.close();
  }
}

const WAIT = { timeout: 3000 };

/** Mirrors an event as a node, whatever was there before. */
async function mirror(own: NatsConnection, node: string, text = 'none'): Promise<void> {
  const about = headers();
  for (const [name, value] of Object.entries({ Epoch: 'e', Seq: '1', Prev: '0', Id: 'evt_a' }))
    about.set(`Cadre-${name}`, value);
  const said = await own.request(names.event(node, 'session.created'), text, {
    ...WAIT,
    headers: about,
  });
  const { error } = said.json<{ error?: { description: string } }>();
  if (error) throw new Error(error.description);
}

async function headOf(own: NatsConnection, node: string): Promise<void> {
  const found = await own.request(names.head(node), '', WAIT);
  if (found.headers?.code) throw new Error(found.headers.description);
}

async function readEvents(own: NatsConnection): Promise<void> {
  const { signal } = new AbortController();
  const stream = new NatsReaderStream(own, names, systemClock);
  for await (const _one of stream.read({ after: 0 }, { follow: false, signal })) return;
  throw new Error('nothing came');
}

/** Receives an event that is mirrored meanwhile. */
async function hearNews(own: NatsConnection): Promise<void> {
  const heard = Promise.withResolvers<void>();
  own.subscribe(names.newsOf(names.eventsOf('n2')), { callback: () => heard.resolve() });
  await own.flush();
  const node = await secured().as('n2');
  await mirror(node, 'n2');
  await heard.promise;
  await node.close();
}

/** Asks the real server for its version, or to open a session. */
function ask(own: NatsConnection, scope: 'admin' | 'read', user: string) {
  const client = new NodeClient(
    { connection: own, names, user, scope, clock: systemClock, newKey: () => 'key' },
    'n1',
  );
  return client.call(endpoints.getVersion, {});
}

type Tried = readonly [
  what: string,
  who: string,
  comparison: string,
  work: (own: NatsConnection) => Promise<unknown>,
];

const cases: readonly Tried[] = [
  ['mirrors its own events', 'n1', 'done', (own) => mirror(own, 'n1')],
  ['mirrors its own events', 'n2', 'done', (own) => mirror(own, 'n2')],
  ['mirrors events as another node', 'n1', 'refused', (own) => mirror(own, 'n2')],
  ['reads its own newest event', 'n1', 'done', (own) => headOf(own, 'n1')],
  ['reads the newest event of another node', 'n1', 'refused', (own) => headOf(own, 'n2')],
  ['reads the events of all', 'n1', 'refused', readEvents],
  [
    'deletes the stream',
    'n1',
    'refused',
    async (own) =>
      (await jetstreamManager(own, { ...WAIT, checkAPI: false })).streams.delete(names.events),
  ],
  [
    'gives a sign of life for another node',
    'n2',
    'refused',
    (own) => new Bucket(own, names, names.nodes).put(names.alive('n1'), '{}', 0),
  ],
  ['asks a node under its name', 'alice', 'done', (own) => ask(own, 'admin', 'alice')],
  [
    'asks a node under the name of somebody else',
    'alice',
    'refused',
    (own) => ask(own, 'admin', 'bob'),
  ],
  ['asks a node to read', 'bob', 'done', (own) => ask(own, 'read', 'bob')],
  ['asks a node as an admin', 'bob', 'refused', (own) => ask(own, 'admin', 'bob')],
  [
    'asks another node as its peer',
    'n2',
    'refused',
    (own) =>
      own.request(names.request('n1', 'peer', 'n2'), '{"method":"GET","path":"/v1/version"}', WAIT),
  ],
  [
    'asks another node as an admin',
    'n2',
    'refused',
    (own) => own.request(names.request('n1', 'admin', 'n2'), '{}', WAIT),
  ],
  ['reads all events', 'bob', 'done', readEvents],
  ['hears that a node has events', 'bob', 'done', hearNews],
  ['sees who is alive', 'bob', 'done', (own) => livingNodes(new Bucket(own, names, names.nodes))],
  ['mirrors events as a node', 'bob', 'refused', (own) => mirror(own, 'n1')],
  [
    'keeps the place of a session',
    'alice',
    'done',
    (own) => new Bucket(own, names, names.placements).put('k', '{"node":"n1"}', 0),
  ],
  [
    'keeps the place of a session',
    'bob',
    'refused',
    (own) => new Bucket(own, names, names.placements).put('l', '{"node":"n1"}', 0),
  ],
];

test.for(cases)('A member that %s, as %s, is %s.', async ([, who, comparison, work]) => {
  expect(await tried(who, work)).toBe(comparison);
});

/** Where nobody but its owner, or the one who asks, may have anything come to. */
const FOREIGN = [
  names.event('n1', 'session.created'),
  names.key(names.nodes, names.alive('n3')),
  names.key(names.placements, 'taken'),
  names.request('n2', 'admin', 'alice'),
  names.newsOf(names.event('n1', 'session.created')),
  `${names.inbox('alice')}.x`,
];
/** The cases that the key of alice allows. */
const MEANT = new Set([
  names.request('n2', 'admin', 'alice'),
  names.key(names.placements, 'taken'),
]);
const DIRECT = `$JS.API.DIRECT.GET.${names.events}`;

/** Each has JetStream, or a node, send something to a subject: as the answer to a question, or as what a consumer delivers. */
const detours: Record<string, (own: NatsConnection, to: string) => void> = {
  'a message of its own': (own, to) => own.publish(to, 'forged'),
  'the answer to a page of the stream': (own, to) =>
    own.publish(DIRECT, '{"seq":1,"batch":9}', { reply: to }),
  'the answer to its newest event': (own, to) => own.publish(names.head('n2'), '', { reply: to }),
  'what the leader has': (own, to) =>
    own.publish(`$JS.API.STREAM.MSG.GET.${names.events}`, '{"seq":1}', { reply: to }),
  'what the stream is': (own, to) =>
    own.publish(`$JS.API.STREAM.INFO.${names.events}`, '', { reply: to }),
  'the acknowledgement of an event': (own, to) =>
    own.publish(names.event('n2', 'session.created'), 'forged', { reply: to }),
  'what a consumer delivers': (own, to) =>
    own.publish(
      `$JS.API.CONSUMER.CREATE.${names.events}`,
      JSON.stringify({
        stream_name: names.events,
        config: { deliver_subject: to, ack_policy: 'none', deliver_policy: 'all' },
      }),
    ),
};

/** How often something has come to one of those subjects, while `who` tried everything to have it there. */
async function arrivals(who: string): Promise<number> {
  const { as } = secured();
  const [own, admin, alice, n2] = await Promise.all([who, 'admin', 'alice', 'n2'].map(as));
  if (!own || !admin || !alice || !n2) throw new Error('four connections');
  await mirror(n2, 'n2', 'forged');
  let count = 0;
  // Accounts are isolated: what somebody sends to themselves is nobody else's.
  const others = { admin, alice, n2 };
  for (const [name, one] of Object.entries(others))
    for (const subject of name === who ? [] : [...FOREIGN, names.requestsOf('n2')])
      one.subscribe(subject, { callback: (error) => void (error ?? count++) });
  await Promise.all([admin.flush(), alice.flush(), n2.flush()]);
  const targets = FOREIGN.filter((to) => who !== 'alice' || !MEANT.has(to));
  for (const to of targets) for (const take of Object.values(detours)) take(own, to);
  // JetStream answers in the order in which it is asked, and so does NATS.
  await own.flush();
  await admin.request(DIRECT, '{"seq":1}', WAIT);
  await Promise.all([admin.flush(), alice.flush(), n2.flush()]);
  await Promise.all([own, admin, alice, n2].map((one) => one.close()));
  return count;
}

test.for(['n2', 'alice', 'bob'])(
  'Nothing that %s has NATS send comes to an event, a sign, a place, a node or an answer of somebody else.',
  async (who) => {
    expect(await arrivals(who)).toBe(0);
  },
);

test('All of that does come where the key has no limits, so it would be seen.', async () => {
  expect(await arrivals('admin')).toBeGreaterThan(FOREIGN.length);
});

test('A request by a person who may read is refused by the server where it changes something.', async () => {
  const own = await secured().as('bob');
  const client = new NodeClient(
    { connection: own, names, user: 'bob', scope: 'read', clock: systemClock, newKey: () => 'key' },
    'n1',
  );
  await expect(
    client.call(endpoints.createSession, { body: { provider: 'acp', cwd: '/' } }),
  ).rejects.toMatchObject({ code: 'forbidden_scope' });
  await own.close();
});

test('Nobody gets in without a key, and nobody talks without TLS.', async () => {
  const { urls, ca } = secured();
  const access = { urls, fleet: 'f', name: 'x', credentials: null };
  await expect(connectTo({ ...access, tls: { ca, cert: null, key: null } })).rejects.toMatchObject({
    code: 'unauthorized',
  });
  await expect(
    connectTo({ ...access, tls: { ca: null, cert: null, key: null } }),
  ).rejects.toMatchObject({ code: 'unreachable' });
});
