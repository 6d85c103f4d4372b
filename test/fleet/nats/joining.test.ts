import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { Bucket } from '../../../src/fleet/bucket.ts';
import { namesOf } from '../../../src/fleet/names.ts';
import { NatsMirrorStream } from '../../../src/fleet/nats-mirror-stream.ts';
import { replaceNode } from '../../../src/fleet/replace-node.ts';
import { livingNodes } from '../../../src/fleet/heartbeat.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { Cluster, type TestFleet, withFleet } from '../../support/fleet/cluster.ts';
import { Relay } from '../../support/fleet/relay.ts';
import { shared } from '../../support/shared.ts';
import { type TestRuntime, withRuntime } from '../../support/runtime.ts';

const fleet = shared<TestFleet>('fleet', (use) => withFleet(use));

/** Runs `test` with a server that is configured to be a node. */
function asNode<T>(
  name: string,
  test: (given: TestRuntime) => Promise<T>,
  { urls = fleet().urls, directory }: { urls?: string[]; directory?: string } = {},
): Promise<T> {
  const config = { fleet: { url: urls, name, fleet: 'test', labels: ['gpu'] } };
  return withRuntime(test, { config, ...(directory === undefined ? {} : { directory }) });
}

async function stateOf({ client }: TestRuntime): Promise<string | undefined> {
  return (await client.call(endpoints.getHealth, {})).fleet?.state;
}

function living() {
  const { connection } = fleet();
  const names = namesOf('test');
  return livingNodes(new Bucket(connection, names, names.nodes));
}

test('A server with [fleet] has a heartbeat with its labels and room, and removes it when it stops.', async () => {
  await asNode('n1', async (given) => {
    await expectEventually(() => stateOf(given)).toBe('member');
    expect(await living()).toMatchObject([{ node: 'n1', labels: ['gpu'], live: 0, max_live: 32 }]);
  });
  expect(await living()).toEqual([]);
});

test('A server with [fleet] is alive by its own sign alone: one under another name speaks for nobody.', async () => {
  const names = namesOf('test');
  const bucket = new Bucket(fleet().connection, names, names.nodes);
  const sign = { node: 'n1', instance: 'i', epoch: 'e', machine: 'm', version: '1' };
  const revision = await bucket.put('alive.other', JSON.stringify(sign), 0);
  expect(await living()).toEqual([]);
  await bucket.remove('alive.other', revision);
});

test('A server with [fleet] stays out where another server has its name, also once that one has stopped, until the name is freed.', async () => {
  await asNode('n2', async (first) => {
    await expectEventually(() => stateOf(first)).toBe('member');
    const { epoch } = await first.client.call(endpoints.getVersion, {});
    const second = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<void>();
    const other = asNode('n2', async (given) => {
      await expectEventually(() => stateOf(given)).toBe('name_taken');
      expect(await given.client.call(endpoints.getHealth, {})).toMatchObject({
        status: 'degraded',
        fleet: { detail: expect.stringContaining('another fleet.name') },
      });
      second.resolve();
      await stopped.promise;
      const health = async () => (await given.client.call(endpoints.getHealth, {})).fleet;
      await expectEventually(health, 20_000).toMatchObject({
        state: 'name_taken',
        detail: expect.stringContaining('cadre fleet nodes replace n2 --yes'),
      });
      const { connection } = fleet();
      const names = namesOf('test');
      expect(await replaceNode(connection, names, 'n2')).toBe(epoch);
      await expectEventually(() => stateOf(given), 20_000).toBe('member');
      const head = async () => (await new NatsMirrorStream(connection, names, 'n2').head())?.epoch;
      await expectEventually(head).toBe((await given.client.call(endpoints.getVersion, {})).epoch);
      await expect(replaceNode(connection, names, 'n2')).rejects.toThrow('stop that server first');
    });
    await second.promise;
    expect(await stateOf(first)).toBe('member');
    void first.runtime.stop().then(() => stopped.resolve());
    await other;
  });
});

test('A server with [fleet] works without NATS, and joins once there is one.', async () => {
  await using cluster = await Cluster.start();
  const [server] = cluster.servers;
  if (!server) throw new Error('no server');
  await cluster.kill(server);
  await asNode(
    'n3',
    async (given) => {
      await expectEventually(
        async () => (await given.client.call(endpoints.getHealth, {})).fleet,
      ).toMatchObject({
        state: 'joining',
        detail: expect.stringContaining('no NATS server answers'),
      });
      await given.client.call(endpoints.listSessions, { query: {} });
      cluster.boot(server);
      await expectEventually(
        async () => (await given.client.call(endpoints.getHealth, {})).fleet?.detail,
      ).toContain('cadre fleet init');
    },
    { urls: cluster.urls },
  );
});

test('A server with [fleet] that is cut off says so, and is a member again once the network is back.', async () => {
  const [server] = fleet().cluster.servers;
  await using relay = await Relay.to(server?.port ?? 0);
  await asNode(
    'n4',
    async (given) => {
      await expectEventually(() => stateOf(given)).toBe('member');
      relay.freeze();
      await expectEventually(() => stateOf(given), 30_000).toBe('unreachable');
      await expectEventually(() => living(), 30_000).toEqual([]);
      relay.thaw();
      await expectEventually(() => stateOf(given), 30_000).toBe('member');
      expect(await living()).toMatchObject([{ node: 'n4' }]);
    },
    { urls: [relay.url] },
  );
});
