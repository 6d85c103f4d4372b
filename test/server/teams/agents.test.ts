import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import { demoSection } from '../../support/providers/demo-agents.ts';
import { sharedRuntime } from '../../support/runtime.ts';

const given = sharedRuntime({
  config: {
    providers: { acp: { ...demoSection(), agents: { one: demoSection(), two: demoSection() } } },
    teams: { model_presets: [{ name: 'second', provider: 'acp', agent: 'two' }] },
  },
});

/** Opens a lead that agent `one` serves, and spawns a member of its team. */
async function spawned(client: Client, more: object) {
  const lead = await client.call(endpoints.createSession, {
    body: { provider: 'acp', agent: 'one', permission_mode: 'require_approval' },
  });
  const body = { name: 'shop', lead_agent_id: lead.id };
  const { team } = await client.call(endpoints.createTeam, { body });
  const member = await client.call(endpoints.spawnMember, {
    params: { team_id: team.id },
    body: { source_session_id: lead.id, ...more },
  });
  return member.session;
}

test.for([
  [{}, 'one'],
  [{ provider: 'acp' }, 'one'],
  [{ agent: 'two' }, 'two'],
  [{ provider: 'acp', agent: 'two' }, 'two'],
  [{ model_preset: 'second' }, 'two'],
  [{ agent: 'default' }, 'default'],
] as const)(
  'A member that is spawned with %j is served by the agent %j.',
  async ([more, agent]) => {
    const { client } = given();
    expect(await spawned(client, more)).toMatchObject({ provider: 'acp', agent });
  },
);

test('A member with an unknown agent, or with an agent and a preset, is refused.', async () => {
  const { client } = given();
  await expect(spawned(client, { agent: 'nobody' })).rejects.toThrow(/unknown agent "nobody"/);
  const both = spawned(client, { agent: 'one', model_preset: 'second' });
  await expect(both).rejects.toThrow(/cannot be combined with provider, agent or model/);
});

test('A member may have a preset with an agent, which the tools list.', async () => {
  const { client } = given();
  const { cadreTeamModelPresets: presets } = await client.call(endpoints.getCapabilities, {});
  expect(presets).toMatchObject([{ name: 'second', provider: 'acp', agent: 'two' }]);
});
