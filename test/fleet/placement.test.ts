import { errors, type NatsConnection } from '@nats-io/transport-node';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { Bucket } from '../../src/fleet/bucket.ts';
import { newUuid } from '../../src/core/lib/ids.ts';
import { namesOf } from '../../src/fleet/names.ts';
import {
  chosenNode,
  noRoom,
  PlacementClient,
  Placements,
} from '../../src/fleet/placement-client.ts';
import type { NodeHeartbeat } from '../../src/fleet/heartbeat.ts';
import { FakeNatsServer } from './fake-nats-server.ts';
import { ManualClock } from '../support/manual-clock.ts';

const names = namesOf('f');

function node(name: string, live: number, labels: string[] = []): NodeHeartbeat {
  return {
    node: name,
    instance: 'i',
    epoch: 'e',
    machine: 'm',
    version: '1',
    labels,
    live,
    max_live: 4,
    mirror: 'on',
    detail: null,
  };
}

function setUp() {
  const nats = new FakeNatsServer(new ManualClock());
  const placements = new Placements(new Bucket(nats.connection(), names, names.placements));
  return { nats, placements, subject: (key: string) => names.key(names.placements, key) };
}

test('The chosen node has all labels and room, and of two that chance names it is the one with more room.', () => {
  const nodes = fc
    .array(fc.tuple(fc.nat({ max: 4 }), fc.subarray(['gpu', 'big'])))
    .map((all) => all.map(([live, labels], at) => node(`n${at}`, live, labels)));
  const chances = fc.tuple(fc.nat({ max: 999 }), fc.nat({ max: 999 }));
  fc.assert(
    fc.property(nodes, fc.subarray(['gpu', 'big']), chances, (all, labels, thousandths) => {
      const rest = [...thousandths];
      const found = chosenNode(all, labels, () => (rest.shift() ?? 0) / 1000);
      const fit = all.filter(
        (one) => labels.every((label) => one.labels.includes(label)) && one.live < 4,
      );
      if (found === null) return fit.length === 0;
      const drawn = thousandths.map((one) => fit[Math.floor((one / 1000) * fit.length)]);
      return fit.includes(found) && drawn.every((one) => found.live <= (one?.live ?? 0));
    }),
  );
});

test.for([
  [[], [], 'unreachable', 'no node of the fleet is alive: see cadre fleet nodes'],
  [
    [node('a', 0)],
    ['gpu'],
    'too_many',
    'no node of the fleet with the label gpu is alive: see cadre fleet nodes',
  ],
  [
    [node('a', 4)],
    [],
    'too_many',
    'all live nodes already run their maximum number of agents: try again when a turn has ended',
  ],
] as const)(
  'No node is chosen from %j with the labels %j, and the error has the reason.',
  ([nodes, labels, code, message]) => {
    expect(chosenNode(nodes, labels, () => 0)).toBeNull();
    expect(noRoom(nodes, labels)).toMatchObject({ code, message });
  },
);

test('The placement of a request is chosen once: whoever repeats the request gets the same node.', async () => {
  const { placements } = setUp();
  expect(await placements.reserve('key', async () => 'a')).toMatchObject({ node: 'a' });
  expect(await placements.reserve('key', async () => 'b')).toMatchObject({ node: 'a' });
  expect(await placements.reserve('other key!', async () => 'b')).toMatchObject({ node: 'b' });
  expect(await placements.reserve('other key!', async () => 'c')).toMatchObject({ node: 'b' });
});

test('The placement of a request is the one of whoever was faster.', async () => {
  const { nats, placements, subject } = setUp();
  nats.onRead = () => {
    nats.onRead = () => undefined;
    nats.write(subject('key'), '{"node":"theirs"}');
  };
  expect(await placements.reserve('key', async () => 'ours')).toMatchObject({ node: 'theirs' });
});

test('The placement of a request that was given up is chosen anew, and one that another client has chosen since stays.', async () => {
  const { nats, placements, subject } = setUp();
  const first = await placements.reserve('key', async () => 'a');
  await placements.release('key', first);
  const second = await placements.reserve('key', async () => 'b');
  expect(second.node).toBe('b');
  await placements.release('key', first);
  expect(nats.read(subject('key'))).toBe('{"node":"b"}');
});

test('Each new session goes to a node with room, and a request after the loss of a node to another one.', async () => {
  const nats = new FakeNatsServer(new ManualClock());
  const living = [node('a', 0)];
  const connection = Object.assign(nats.connection(), {
    async requestMany() {
      const messages = living.map((one) => ({
        data: Buffer.from(JSON.stringify(one)),
        headers: new Map([['Nats-Subject', names.key(names.nodes, `alive.${one.node}`)]]),
      }));
      return [...messages, { headers: { code: 204 } }];
    },
  }) as unknown as NatsConnection;
  const placed: string[] = [];
  const client = new PlacementClient(
    { connection, names, user: 'alice', scope: 'admin', clock: new ManualClock(), newKey: newUuid },
    { labels: [], random: () => 0, onPlaced: (_id, on) => placed.push(on) },
  );
  const open = () => client.call(endpoints.createSession, { body: { provider: 'acp', cwd: '/' } });
  nats.answer = () => ({ text: '{"status":200,"headers":{},"body":{"id":"sess_1"}}' });
  await open();
  living[0] = node('b', 0);
  await open();
  expect(placed).toEqual(['a', 'b']);
  await client.call(endpoints.getVersion, {});
  nats.answer = () => {
    throw new errors.ClosedConnectionError();
  };
  await expect(client.call(endpoints.getVersion, {})).rejects.toMatchObject({
    code: 'unreachable',
  });
  living[0] = node('c', 0);
  nats.answer = () => ({ text: '{"status":200,"headers":{},"body":{"name":"cadre"}}' });
  await client.call(endpoints.getVersion, {});
  expect(nats.asked.map(({ subject }) => subject.split('.')[3])).toEqual(['a', 'b', 'b', 'b', 'c']);
});
