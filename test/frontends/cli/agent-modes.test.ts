import { expect, test } from 'vitest';
import type { Session, Turn } from '../../../src/api/sessions.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { demoSection } from '../../support/providers/demo-agents.ts';
import { testRawAgent } from '../../support/providers/raw-agent.ts';
import { sharedRuntime } from '../../support/runtime.ts';

/** The demo agent, once configured as asking and once as never asking. */
const agents = { asking: demoSection({ asks: true }), silent: demoSection({ asks: false }) };
const withAgents = sharedRuntime({
  config: {
    providers: { acp: { default_agent: 'asking', agents } },
    defaults: { provider: 'acp' },
  },
});

test('The option --agent-mode chooses the mode of the agent for a session or a turn.', async () => {
  const server = withAgents();
  const cadre = cadreOn(server);
  const create = ['sessions', 'create', '--agent-mode', 'read_only', '--json'];
  const session = (await cadre(create)).json() as Session;
  expect(session).toMatchObject({ agent_mode: 'read_only', permission_mode: null });
  const run = (...more: string[]) => cadre(['run', '--session', session.id, ...more, 'say hi']);
  expect(await run()).toMatchObject({ code: 0, stdout: 'hi\n' });
  expect((await run('--agent-mode', 'full_access')).code).toBe(0);
  const send = ['sessions', 'send', session.id, '--agent-mode', 'nonsense', 'say hi'];
  expect((await cadre(send)).stderr).toMatch(
    /unknown agent_mode "nonsense": choose from default, /,
  );
  const turns = (await cadre(['sessions', 'turns', session.id, '--json'])).json() as Turn[];
  expect(turns.map(({ agent_mode }) => agent_mode)).toEqual(['full_access', null]);
});

test('The commands run and sessions create report once that an agent never requests approvals.', async () => {
  const server = withAgents();
  const cadre = cadreOn(server);
  const flags = ['--permission-mode', 'require_approval'];
  const create = (...more: string[]) => cadre(['sessions', 'create', ...flags, ...more]);
  const [asking, silent] = [await create(), await create('--agent', 'silent')];
  expect(asking.stderr).toBe('');
  expect(silent.stderr).toMatch(/never requests approval/);
  const session = silent.stdout.trim();
  const first = await cadre(['run', '--session', session, 'say hi']);
  expect(first.stderr).toMatch(
    /^\[agent_never_asks\] permission_mode "require_approval" has no effect: this agent never .*\n$/,
  );
  expect((await cadre(['run', '--session', session, 'say hi'])).stderr).toBe('');
  expect((await cadre(['sessions', 'show', session])).stdout).toContain(
    'this agent never requests',
  );
});

test('The command sessions show names the chosen mode with its id.', async () => {
  const { given, open } = await testRawAgent({
    methods: {
      'session/new': (_params, { pid }) => ({
        sessionId: `raw-${pid}`,
        modes: {
          currentModeId: 'm1',
          availableModes: [
            { id: 'm1', name: 'Agent' },
            { id: 'm2', name: 'Plan' },
          ],
        },
      }),
    },
  });
  const cadre = cadreOn(given);
  const [plain, chosen, named] = [
    await open(),
    await open({ agent_mode: 'm2' }),
    await open({ agent_mode: 'Plan' }),
  ];
  for (const session of [plain, chosen, named]) await session.run('hi');
  const shown = async (id: string) => (await cadre(['sessions', 'show', id])).stdout;
  expect(await shown(plain.id)).not.toContain('mode:');
  expect(await shown(chosen.id)).toMatch(/^mode: "Plan" \(m2\)\n\n/);
  expect(await shown(named.id)).toMatch(/^mode: "Plan" \(m2\)\n\n/);
});
