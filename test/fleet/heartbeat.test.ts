import { expect, test } from 'vitest';
import { Bucket } from '../../src/fleet/bucket.ts';
import { namesOf } from '../../src/fleet/names.ts';
import {
  mayTake,
  type NodeHeartbeat,
  readHeartbeat,
  Heartbeat,
} from '../../src/fleet/heartbeat.ts';
import { FakeNatsServer } from './fake-nats-server.ts';
import { ManualClock } from '../support/manual-clock.ts';

const names = namesOf('f');
const sign: NodeHeartbeat = {
  node: 'n1',
  instance: 'i1',
  epoch: 'e1',
  machine: 'm1',
  version: '1',
  labels: ['gpu'],
  live: 1,
  max_live: 2,
  mirror: 'on',
  detail: null,
};

function setUp() {
  const clock = new ManualClock();
  const nats = new FakeNatsServer(clock);
  const bucket = new Bucket(nats.connection(), names, names.nodes);
  const signOf = (more: Partial<NodeHeartbeat> = {}) =>
    new Heartbeat({ bucket, names, clock, current: () => ({ ...sign, ...more }) });
  const living = () => readHeartbeat(nats.read(names.key(names.nodes, 'alive.n1')) ?? null);
  return { clock, nats, signOf, living };
}

test.for([
  ['A node may take a free name', null, false, true],
  ['A node may keep its own name', sign, true, true],
  [
    'A node may take its name from an earlier start on the same machine with the same log',
    { instance: 'i0' },
    false,
    true,
  ],
  ['A node may not take a name from another log', { instance: 'i0', epoch: 'e0' }, false, false],
  [
    'A node may not take a name from another machine',
    { instance: 'i0', machine: 'm0' },
    false,
    false,
  ],
  [
    'A node may not take its name back from a later start, because one of them is a copy',
    { instance: 'i2' },
    true,
    false,
  ],
] as const)('%s.', ([, found, held, may]) => {
  expect(mayTake(sign, found && { ...sign, ...found }, held)).toBe(may);
});

test('A heartbeat is renewed while it is ours, and says what the node says.', async () => {
  const { clock, signOf, living } = setUp();
  const own = signOf();
  expect(await own.renew()).toBe(true);
  clock.advance(4000);
  expect(await own.renew()).toBe(true);
  clock.advance(4000);
  expect(living()).toEqual(sign);
  expect(own.isOurs).toBe(true);
});

test('A heartbeat that is not renewed for 6 s is not ours any more, and then is gone.', async () => {
  const { clock, signOf, living } = setUp();
  const own = signOf();
  await own.renew();
  clock.advance(6000);
  expect(own.isOurs).toBe(false);
  expect(living()).toBeNull();
  expect(await own.renew()).toBe(true);
});

test('A heartbeat of another server is left alone until it is gone.', async () => {
  const { clock, signOf, living } = setUp();
  await signOf().renew();
  const other = signOf({ instance: 'i2', machine: 'm2' });
  expect(await other.renew()).toBe(false);
  expect(other.isOurs).toBe(false);
  clock.advance(6000);
  expect(await other.renew()).toBe(true);
  expect(living()?.machine).toBe('m2');
});

test('A heartbeat of an earlier start is taken over at once; a server whose sign was taken gives way.', async () => {
  const { signOf, living } = setUp();
  const [first, second] = [signOf(), signOf({ instance: 'i2' })];
  await first.renew();
  expect(await second.renew()).toBe(true);
  expect(await first.renew()).toBe(false);
  expect(first.isOurs).toBe(false);
  expect(await second.renew()).toBe(true);
  expect(living()?.instance).toBe('i2');
});

test("A heartbeat that ends is taken away, unless it is somebody else's by then.", async () => {
  const { clock, signOf, living } = setUp();
  const own = signOf();
  await own.renew();
  await own.end();
  expect(living()).toBeNull();
  await own.renew();
  clock.advance(6000);
  await signOf({ instance: 'i2', machine: 'm2' }).renew();
  await own.end();
  expect(living()?.machine).toBe('m2');
});

test('A heartbeat with words that make no sense counts as none.', () => {
  expect([null, '', '{}', '[]', 'null', '{"node":1}'].map(readHeartbeat)).toEqual(
    Array.from({ length: 6 }, () => null),
  );
  expect(readHeartbeat(JSON.stringify({ ...sign, labels: ['a', 1], live: 'x' }))).toMatchObject({
    labels: ['a'],
    live: 0,
  });
});
