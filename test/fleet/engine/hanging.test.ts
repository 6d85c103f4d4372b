import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { PINGS } from '../../../src/fleet/nats-config.ts';
import { runHere } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { withFleet } from '../../support/fleet/cluster.ts';
import { withRuntime } from '../../support/runtime.ts';
import { tempDirectory } from '../../support/temp.ts';

const COMMANDS = [
  ['sessions', 'list', '--fleet'],
  ['events', 'tail', '--fleet', '--no-follow', '--kind', 'runtime.started'],
  ['fleet', 'nodes'],
];
const TIMES = Number(process.env.FLEET_TIMES ?? 1);

test('No command of a fleet fails while one of three NATS servers hangs.', () =>
  withFleet(
    async ({ cluster, urls }) => {
      const config = { fleet: { url: urls, name: 'n1', fleet: 'test' } };
      await withRuntime(
        async ({ client }) => {
          const state = async () => (await client.call(endpoints.getHealth, {})).fleet?.state;
          await expectEventually(state).toBe('member');
          using home = tempDirectory();
          const env = { CADRE_FLEET: urls.join(','), CADRE_FLEET_FLEET: 'test' };
          for (let round = 0; round < TIMES; round++)
            for (const server of cluster.servers) {
              server.process?.kill('SIGSTOP');
              const ended = await Promise.all(
                COMMANDS.map((args) => runHere(home.path, args, { env })),
              );
              expect(ended.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual(
                COMMANDS.map(() => 0),
              );
              server.process?.kill('SIGCONT');
            }
        },
        { config },
      );
    },
    { servers: 3, config: () => `max_payload: 8MB\n${PINGS}` },
  ));
