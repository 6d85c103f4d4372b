import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { Client } from '../../../../src/client/client.ts';
import type { NamedAgentKind, Provider } from '../../../../src/agents/provider.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { testRuntime } from '../../../support/runtime.ts';
import { completed, scriptedProvider } from '../../../support/scripted-provider.ts';
import { testDirectory } from '../../../support/temp.ts';

/** A provider with two agents that say which sessions they were asked for; each has lost all of its own. */
function twoAgents() {
  const asked: [agent: string, ref: string][] = [];
  const base = scriptedProvider((turn) => turn.end(completed));
  const kinds = ['one', 'two'].map((name) => ({
    ...base,
    name,
    displayName: name,
    isConfigured: true,
    isInstalled: () => true,
    lastAuth: () => ({ authenticated: null, mode: 'agent_managed' as const, detail: '' }),
    has: async ({ ref }: { ref: string }) => {
      asked.push([name, ref]);
      return false;
    },
  })) as unknown as NamedAgentKind[];
  const provider: Provider = {
    ...base,
    kinds: {
      preferred: 'one',
      names: ['one', 'two'],
      list: () => kinds,
      find: (name) => kinds.find((one) => one.name === name),
    },
  };
  return { provider, asked };
}

async function used(client: Client, agent: string): Promise<string> {
  const body = { provider: 'acp' as const, agent };
  const { id } = await client.call(endpoints.createSession, { body });
  const input = [{ type: 'text' as const, text: 'hello' }];
  await client.call(endpoints.sendTurn, { params: { session_id: id }, body: { input } });
  await expectEventually(() =>
    client.call(endpoints.getSession, { params: { session_id: id } }),
  ).toMatchObject({ status: 'ready', provider_session_ref: `ref-${id}` });
  return id;
}

test('The verification after a start asks each agent for its own sessions alone.', async () => {
  const directory = testDirectory();
  const before = await testRuntime({ providers: [twoAgents().provider], directory });
  const [first, second] = [await used(before.client, 'one'), await used(before.client, 'two')];
  await before.stop();
  const { provider, asked } = twoAgents();
  const after = await testRuntime({ providers: [provider], directory });
  const recovery = () => after.client.call(endpoints.getRecovery, {});
  await expectEventually(recovery).toMatchObject({ status: 'done' });
  expect(asked).toEqual([
    ['one', `ref-${first}`],
    ['two', `ref-${second}`],
  ]);
  expect((await recovery()).sessions_failed).toMatchObject([
    { session_id: first, message: 'agent one no longer has this session' },
    { session_id: second, message: 'agent two no longer has this session' },
  ]);
});
