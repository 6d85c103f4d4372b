import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { PINGS } from '../../../src/fleet/nats-config.ts';
import { runHere, startCadre } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { type TestFleet, withFleet } from '../../support/fleet/cluster.ts';
import { type TestRuntime, withRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { tempDirectory } from '../../support/temp.ts';

const COMMANDS = [
  ['sessions', 'list', '--fleet'],
  ['events', 'tail', '--fleet', '--no-follow', '--kind', 'runtime.started'],
  ['fleet', 'nodes'],
  ['run', '--on', 'n1', '--provider', 'acp', 'say hi'],
];
const TIMES = Number(process.env.FLEET_TIMES ?? 1);

/** A fleet of three NATS servers with the member n1. */
interface Given extends TestFleet {
  member: TestRuntime;
  env: Record<string, string>;
}

function withMember(test: (given: Given) => Promise<void>): Promise<void> {
  return withFleet(
    async (fleet) => {
      const { urls } = fleet;
      const env = { CADRE_FLEET: urls.join(','), CADRE_FLEET_FLEET: 'test' };
      const providers = [
        scriptedProvider((turn) => turn.end({ status: 'completed', error: null })),
      ];
      await withRuntime(
        async (member) => {
          const state = async () =>
            (await member.client.call(endpoints.getHealth, {})).fleet?.state;
          await expectEventually(state).toBe('member');
          await test({ ...fleet, member, env });
        },
        { config: { fleet: { url: urls, name: 'n1', fleet: 'test' } }, providers },
      );
    },
    { servers: 3, config: () => `max_payload: 8MB\n${PINGS}` },
  );
}

test('No command of a fleet fails while one of three NATS servers hangs.', () =>
  withMember(async ({ cluster, env }) => {
    using home = tempDirectory();
    for (let round = 0; round < TIMES; round++)
      for (const server of cluster.servers) {
        server.process?.kill('SIGSTOP');
        const ended = await Promise.all(COMMANDS.map((args) => runHere(home.path, args, { env })));
        expect(ended.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual(
          COMMANDS.map(() => 0),
        );
        server.process?.kill('SIGCONT');
      }
  }));

test('A running tail of a fleet prints the events that are created while a NATS server hangs, each once.', () =>
  withMember(async ({ cluster, env, member }) => {
    using home = tempDirectory();
    const args = ['events', 'tail', '--fleet', '--kind', 'session.created', '--json'];
    const tail = startCadre(home.path, args, { env });
    const created: string[] = [];
    const create = async () => {
      const body = { provider: 'acp' as const, cwd: '/', title: `session ${created.length}` };
      const { id } = await member.client.call(endpoints.createSession, { body });
      created.push(id);
      await tail.until(id);
    };
    await create();
    for (const server of cluster.servers) {
      server.process?.kill('SIGSTOP');
      await create();
      server.process?.kill('SIGCONT');
    }
    tail.child.kill('SIGTERM');
    const ids = (await tail.ended).lines().map((event) => event.session_id);
    expect(ids).toEqual(created);
  }));
