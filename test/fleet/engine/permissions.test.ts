import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { Bucket } from '../../../src/fleet/bucket.ts';
import { connectTo } from '../../../src/fleet/connection.ts';
import { initFleet } from '../../../src/fleet/init.ts';
import { publicKeyIn } from '../../../src/fleet/key-files.ts';
import { namesOf } from '../../../src/fleet/names.ts';
import { natsConfig } from '../../../src/fleet/nats-config.ts';
import { livingNodes } from '../../../src/fleet/sign-of-life.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { NodeClient } from '../../../src/fleet/node-client.ts';
import { Cluster, untilDone } from '../../support/fleet/cluster.ts';
import { withRuntime } from '../../support/runtime.ts';
import { shared } from '../../support/shared.ts';
import { tempDirectory } from '../../support/temp.ts';

const names = namesOf('f');

/** A NATS server as `cadre fleet init --print-nats-config` configures it, with TLS and nkeys; n1 is a real server. */
interface Secured {
  /** Connects as a node or person, with its own key. */
  as(who: string): Promise<NatsConnection>;
  urls: string[];
  ca: string;
}

const secured = shared<Secured>('secured fleet', async (use) => {
  await using place = tempDirectory('secured');
  const tls = path.join(place.path, 'tls');
  makeCertificates(tls);
  const ca = path.join(tls, 'ca.pem');
  const keys = path.join(place.path, 'keys');
  const plan = {
    fleet: 'f',
    hosts: ['127.0.0.1'],
    nodes: ['n1', 'n2'],
    admins: ['alice'],
    readers: ['bob'],
    tlsDirectory: tls,
    storeDirectory: path.join(place.path, 'store'),
  };
  const text = natsConfig(plan, (name) => publicKeyIn(keys, name));
  await using cluster = await Cluster.start({ scheme: 'tls', whole: () => text });
  const { urls } = cluster;
  const files: Record<string, string> = {
    admin: 'admin',
    n1: 'node-n1',
    n2: 'node-n2',
    alice: 'person-alice',
    bob: 'person-bob',
  };
  const as = (who: string) =>
    connectTo({
      urls,
      fleet: 'f',
      name: who,
      credentials: path.join(keys, `${files[who]}.nk`),
      tls: { ca, cert: null, key: null },
    });
  const admin = await as('admin');
  await untilDone(() => initFleet(admin, 'f', { replicas: 1, maxBytes: 2 ** 28, streamId: 's' }));
  await admin.close();
  const member = {
    url: urls,
    name: 'n1',
    fleet: 'f',
    credentials: path.join(keys, 'node-n1.nk'),
    tls: { ca },
    mirror: false,
  };
  await withRuntime(
    async ({ client }) => {
      await untilDone(async () => {
        const { fleet } = await client.call(endpoints.getHealth, {});
        if (fleet?.state !== 'member') throw new Error(fleet?.detail ?? 'no member');
      });
      await use({ as, urls, ca });
    },
    { config: { fleet: member } },
  );
});

/** What NATS says of what was tried: `done`, or `refused`. */
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

/** Mirrors an event as a node. */
async function mirror(own: NatsConnection, node: string): Promise<void> {
  const about = headers();
  about.set('Cadre-Seq', '1');
  const said = await own.request(names.event(node, 'session.created'), '{}', {
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

/** The first event that a consumer of its own gives. */
async function readEvents(own: NatsConnection): Promise<void> {
  const options = { timeout: WAIT.timeout };
  const consumer = await jetstream(own, options).consumers.get(names.events, {
    filter_subjects: [names.allEvents],
  });
  if (!(await consumer.next({ expires: 3000 }))) throw new Error('nothing came');
}

async function listen(own: NatsConnection, subject: string): Promise<void> {
  const subscription = own.subscribe(subject);
  await own.flush();
  const closed = subscription.closed.then((error) => {
    if (error) throw error;
  });
  await Promise.race([closed, own.flush()]);
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
  verdict: string,
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
    'sends an answer that nobody asked it for',
    'n1',
    'refused',
    async (own) => own.publish('_INBOX.alice.forged.1', '{}'),
  ],
  [
    'asks another node as its peer, which that one refuses by itself',
    'n2',
    'done',
    (own) =>
      own.request(names.request('n1', 'peer', 'n2'), '{"method":"GET","path":"/v1/version"}', WAIT),
  ],
  [
    'asks another node as an admin',
    'n2',
    'refused',
    (own) => own.request(names.request('n1', 'admin', 'n2'), '{}', WAIT),
  ],
  [
    'listens to what is asked of another node',
    'n2',
    'refused',
    (own) => listen(own, names.requestsOf('n1')),
  ],
  ['listens to the answers to a person', 'n2', 'refused', (own) => listen(own, '_INBOX.alice.>')],
  [
    'listens to the answers to another person',
    'bob',
    'refused',
    (own) => listen(own, '_INBOX.alice.>'),
  ],
  ['reads all events', 'bob', 'done', readEvents],
  ['hears that a node has events', 'bob', 'done', (own) => listen(own, names.eventsOf('n1'))],
  ['sees who is alive', 'bob', 'done', (own) => livingNodes(new Bucket(own, names, names.nodes))],
  ['mirrors events as a node', 'bob', 'refused', (own) => mirror(own, 'n1')],
  [
    'keeps the place of a session',
    'alice',
    'done',
    (own) => new Bucket(own, names, names.places).put('k', '{"node":"n1"}', 0),
  ],
  [
    'keeps the place of a session',
    'bob',
    'refused',
    (own) => new Bucket(own, names, names.places).put('l', '{"node":"n1"}', 0),
  ],
];

test.for(cases)('what is tried: it %s, as %s, is %s.', async ([, who, verdict, work]) => {
  expect(await tried(who, work)).toBe(verdict);
});

test('a request by a person who may read is refused by the server where it changes something.', async () => {
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

test('nobody gets in without a key, and nobody talks without TLS.', async () => {
  const { urls, ca } = secured();
  const access = { urls, fleet: 'f', name: 'x', credentials: null };
  await expect(connectTo({ ...access, tls: { ca, cert: null, key: null } })).rejects.toMatchObject({
    code: 'unauthorized',
  });
  await expect(
    connectTo({ ...access, tls: { ca: null, cert: null, key: null } }),
  ).rejects.toMatchObject({ code: 'unreachable' });
});

/** The commands that the configuration itself names. */
function makeCertificates(directory: string): void {
  fs.mkdirSync(directory);
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: directory, stdio: 'ignore' });
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...curve,
    '-days',
    '2',
    '-subj',
    '/CN=cadre fleet',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
  );
  openssl('req', ...curve, '-subj', '/CN=127.0.0.1', '-keyout', 'server.key', '-out', 'server.csr');
  fs.writeFileSync(
    path.join(directory, 'server.ext'),
    'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n',
  );
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'];
  openssl(
    'x509',
    '-req',
    '-in',
    'server.csr',
    ...signed,
    '-extfile',
    'server.ext',
    '-out',
    'server.pem',
  );
}
