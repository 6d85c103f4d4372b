import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { HttpClient } from '../../../../src/client/client.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { initialized, type RawAgent, testRawAgent } from '../../../support/providers/raw-agent.ts';
import { testRawClaude } from '../../../support/providers/raw-claude.ts';
import { testRawCodex } from '../../../support/providers/raw-codex.ts';
import { ofKind } from '../../../support/turns.ts';

interface Sidecar {
  name: string;
  env: { name: string; value: string }[];
}

const sidecarsOf = (agent: RawAgent | undefined) =>
  (agent?.last('session/new')?.params?.mcpServers ?? []) as Sidecar[];

/** Asks for the list of the tools, as the sidecar does that an agent has started. */
async function listTools(agent: RawAgent): Promise<void> {
  const env = sidecarsOf(agent)[0]?.env ?? [];
  const { CADRE_GATEWAY_URL: url = '', CADRE_GATEWAY_TOKEN: token = '' } = Object.fromEntries(
    env.map(({ name, value }) => [name, value]),
  );
  const client = new HttpClient({ url, token });
  await client.call(endpoints.getCapabilities, {});
  client.close();
}

const withoutWait = { toolsWithinMs: 0 };

test.for(['acp', 'claude', 'codex'] as const)(
  'An agent that never asks for the tools causes one notice, after its first completed turn, and is marked in its team (%s).',
  async (provider) => {
    const testAgent = { acp: testRawAgent, claude: testRawClaude, codex: testRawCodex }[provider];
    const { client, open } = await testAgent({}, withoutWait);
    const session = await open();
    const notices = () =>
      ofKind(session.watch.events, 'session.notice').map(({ payload }) => payload.code);
    const body = { name: 'birds', lead_agent_id: session.id };
    const { team } = await client.call(endpoints.createTeam, { body });
    const params = { team_id: team.id };
    const takesTools = async () =>
      (await client.call(endpoints.getTeamView, { params, query: {} })).members[0]?.takes_tools;
    expect(await takesTools()).toBeNull();
    expect((await session.run('hello')).status).toBe('completed');
    await expectEventually(notices).toEqual(['tools_not_taken']);
    expect(await takesTools()).toBe(false);
    expect((await session.run('again')).status).toBe('completed');
    expect(notices()).toEqual(['tools_not_taken']);
  },
);

test('An agent whose sidecar asks for the tools, in its first turn or later, has them.', async () => {
  const { client, open } = await testRawAgent(
    {
      turns: {
        list: async (agent) => {
          await listTools(agent);
          agent.say('listed');
          return { stopReason: 'end_turn' };
        },
      },
    },
    withoutWait,
  );
  const [early, late] = [await open(), await open()];
  await early.run('list');
  await early.run('hello');
  await late.run('hello');
  const notices = () => ofKind(late.watch.events, 'session.notice').length;
  await expectEventually(notices).toBe(1);
  expect(ofKind(early.watch.events, 'session.notice')).toEqual([]);
  await late.run('list');
  const body = { name: 'birds', lead_agent_id: early.id, member_agent_ids: [late.id] };
  const { team } = await client.call(endpoints.createTeam, { body });
  const params = { team_id: team.id };
  const { members } = await client.call(endpoints.getTeamView, {
    params,
    query: {},
  });
  expect(members.map(({ takes_tools }) => takes_tools)).toEqual([true, true]);
});

test('An agent that took the tools causes a notice if its next process does not ask for them.', async () => {
  const { open, agents } = await testRawAgent(
    {
      turns: {
        list: async (agent) => {
          await listTools(agent);
          return { stopReason: 'end_turn' };
        },
      },
    },
    withoutWait,
  );
  const session = await open();
  const notices = () =>
    ofKind(session.watch.events, 'session.notice').map(({ payload }) => payload.code);
  await session.run('list');
  agents[0]?.exit(9);
  await expectEventually(() => agents[0]?.gone).toBe(true);
  expect((await session.run('hello')).status).toBe('completed');
  await expectEventually(notices).toContain('tools_not_taken');
  await session.run('list');
  await session.run('hello');
  expect(notices().filter((code) => code === 'tools_not_taken')).toHaveLength(1);
});

test('An agent that declares that it uses no tools gets no sidecar, and causes no notice.', async () => {
  const { open, agents } = await testRawAgent(
    {
      methods: {
        initialize: () => initialized({ agentCapabilities: { _meta: { 'cadre/no-tools': true } } }),
      },
    },
    withoutWait,
  );
  const session = await open();
  for (const text of ['hello', 'again']) await session.run(text);
  expect(sidecarsOf(agents[0])).toEqual([]);
  expect(ofKind(session.watch.events, 'session.notice')).toEqual([]);
});
