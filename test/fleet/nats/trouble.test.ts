import { jetstreamManager } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { fleetNodes } from '../../../src/fleet/status.ts';
import { initFleet } from '../../../src/fleet/init.ts';
import { namesOf } from '../../../src/fleet/names.ts';
import { NatsMirrorStream } from '../../../src/fleet/nats-mirror-stream.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { Relay } from '../../support/fleet/relay.ts';
import { withFleet } from '../../support/fleet/cluster.ts';
import { withRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { startServer } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';

const names = namesOf('test');
/** A mirror reports a problem that has lasted for 10 s, and a new leader takes a few seconds. */
const WAIT_MS = 40_000;

test('A server whose events cannot be copied to the fleet says so and why, in its health and to the fleet; a stream that is made anew gets all of them without another event.', () =>
  withFleet(async ({ connection, urls }) => {
    const config = { fleet: { url: urls, name: 'n1', fleet: 'test' } };
    await withRuntime(
      async ({ client }) => {
        const health = () => client.call(endpoints.getHealth, {});
        const head = async () => (await new NatsMirrorStream(connection, names, 'n1').head())?.seq;
        const latest = async () =>
          (await client.call(endpoints.getDiagnostics, {})).storage.latest_seq;
        await client.call(endpoints.createSession, { body: { provider: 'acp' } });
        await expectEventually(head, WAIT_MS).toBe(await latest());
        const manager = await jetstreamManager(connection);
        await manager.streams.delete(names.events);
        await expectEventually(health, WAIT_MS).toMatchObject({
          status: 'degraded',
          fleet: { state: 'not_mirrored', detail: expect.stringContaining('cadre fleet init') },
        });
        await initFleet(connection, 'test', { replicas: 1, maxBytes: 2 ** 28, streamId: 'new' });
        await expectEventually(health, WAIT_MS).toMatchObject({
          status: 'degraded',
          fleet: {
            state: 'member',
            detail: expect.stringContaining('the stream of the fleet was created again'),
          },
        });
        expect(await head()).toBe(await latest());
      },
      { config, providers: [scriptedProvider()] },
    );
  }));

test('A server whose events cannot be copied to the fleet says so where the stream takes no more, also in the list of nodes.', () =>
  withFleet(async ({ connection, urls }) => {
    const config = { fleet: { url: urls, name: 'n1', fleet: 'test' } };
    await withRuntime(
      async ({ client }) => {
        const state = async () => (await client.call(endpoints.getHealth, {})).fleet?.state;
        await expectEventually(state).toBe('member');
        const manager = await jetstreamManager(connection);
        const { config: now } = await manager.streams.info(names.events);
        await manager.streams.update(names.events, { ...now, max_msg_size: 10 });
        await client.call(endpoints.createSession, { body: { provider: 'acp' } });
        await expectEventually(() => fleetNodes(connection, names), WAIT_MS).toMatchObject([
          { node: 'n1', mirror: 'failing', detail: expect.stringContaining('maximum allowed') },
        ]);
        expect(await state()).toBe('not_mirrored');
      },
      { config, providers: [scriptedProvider()] },
    );
  }));

test.for(['after it has joined', 'while it joins'])(
  'A stopping server stops though NATS has become mute %s.',
  async (when) =>
    withFleet(async ({ cluster }) => {
      await using relay = await Relay.to(cluster.servers[0]?.port ?? 0);
      await using directory = tempDirectory('mute');
      if (when === 'while it joins') relay.freeze();
      const server = await startServer(directory.path, {
        env: {
          CADRE_FLEET_URL: relay.url,
          CADRE_FLEET_NAME: 'n1',
          CADRE_FLEET_FLEET: 'test',
        },
      });
      const fleet = async () => (await server.client.call(endpoints.getHealth, {})).fleet?.state;
      if (when === 'after it has joined') {
        await expectEventually(fleet).toBe('member');
        relay.freeze();
      }
      await server.end('SIGTERM');
      expect(await server.exited).toMatchObject({ code: 0 });
    }),
);
