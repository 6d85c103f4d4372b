import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { anError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { AgentRecord } from '../../../src/api/providers.ts';
import type { Client } from '../../../src/client/client.ts';
import { itemsOf, run, sessionOf } from '../../support/providers/calls.ts';
import { demoSection, pathWith } from '../../support/providers/demo-agents.ts';
import { Watch } from '../../support/providers/watch.ts';
import { sharedRuntime, withRuntime, testRuntime } from '../../support/runtime.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

/** Runs a prompt in a new session. */
async function said(client: Client, agent: string | undefined, prompt: string) {
  const body = { provider: 'acp' as const, agent };
  const session = await client.call(endpoints.createSession, { body });
  const watch = new Watch(client, session.id, 8000);
  const turn = await run(client, watch, session, prompt);
  const items = await itemsOf(client, turn);
  return { session, turn, messages: items.map(({ text }) => text) };
}

async function agentsOf(client: Client): Promise<Record<string, AgentRecord>> {
  const providers = await client.call(endpoints.listProviders, {});
  const agents = providers.find(({ id }) => id === 'acp')?.agents ?? [];
  return Object.fromEntries(agents.map((one) => [one.name, one]));
}

afterEach(() => vi.unstubAllEnvs());

test('Two named agents run in one server at once, each with its own home and environment.', async () => {
  const homes = testDirectory();
  vi.stubEnv('ONE_KEY', 'key-of-one');
  const home = (name: string) => path.join(homes, name);
  const agents = {
    one: demoSection({ home: home('one'), env: { MINE: 'one' }, pass_env: ['ONE_KEY'] }),
    two: demoSection({ home: home('two'), env: { OTHER: 'two' } }),
  };
  const prompt = 'env HOME; env XDG_CONFIG_HOME; env MINE; env OTHER; env ONE_KEY';
  const { client } = await testRuntime({
    config: { providers: { acp: { default_agent: 'one', agents } } },
  });
  const [one, two] = await Promise.all([said(client, 'one', prompt), said(client, 'two', prompt)]);
  const [a, b] = [home('one'), home('two')];
  expect([one.session.agent, two.session.agent]).toEqual(['one', 'two']);
  expect(one.messages).toEqual([a, `${a}/.config`, 'one', '(unset)', 'key-of-one']);
  expect(two.messages).toEqual([b, `${b}/.config`, '(unset)', 'two', '(unset)']);
  const diagnostics = await client.call(endpoints.getProviderDiagnostics, {});
  const live = diagnostics.find(({ id }) => id === 'acp');
  const counts = live?.agents.map(({ name, sessions }) => [name, sessions]);
  expect(live?.sessions).toBe(2);
  expect(counts).toEqual(
    expect.arrayContaining([
      ['one', 1],
      ['two', 1],
    ]),
  );
});

test('A failed start of one agent does not change the health of another agent.', async () => {
  const agents = { good: demoSection(), bad: { command: '/bin/false' } };
  const { client } = await testRuntime({
    config: { providers: { acp: { default_agent: 'good', agents } } },
  });
  const { session, turn } = await said(client, 'bad', 'hello');
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'provider_unavailable' } });
  expect((await said(client, undefined, 'say hi')).turn.text).toBe('hi');
  expect(await sessionOf(client, session)).toMatchObject({ agent: 'bad', status: 'ready' });
  expect(await agentsOf(client)).toMatchObject({
    good: { healthy: true, version: expect.stringMatching(/^cadre-demo /), default: true },
    bad: { healthy: false, detail: expect.stringContaining('the last start failed') },
  });
  const [acp] = await client.call(endpoints.listProviders, {});
  expect(acp).toMatchObject({ id: 'acp', healthy: true });
});

const shared = sharedRuntime({
  config: {
    providers: {
      acp: { ...demoSection(), agents: { mine: demoSection(), off: { enabled: false } } },
    },
  },
});
const refusal = (client: Client, body: object) =>
  client.call(endpoints.createSession, { body: { provider: 'acp', ...body } }).then(
    () => null,
    (error: unknown) => {
      const { code, message } = error as { code: string; message: string };
      return { code, message };
    },
  );

test('An agent that is configured directly in the acp section has the name "default".', async () => {
  const { client } = shared();
  expect((await said(client, undefined, 'say hi')).session.agent).toBe('default');
  expect((await agentsOf(client)).default).toMatchObject({ default: true, configured: true });
});

test('A session with an unknown agent name is refused with the list of names.', async () => {
  const { client } = shared();
  expect(await refusal(client, { agent: 'nobody' })).toEqual(
    anError('invalid', /^unknown agent "nobody": choose from default, mine, .*gemini/),
  );
});

test('A session of another provider cannot name an agent.', async () => {
  const { client } = shared();
  const { code, message } = (await refusal(client, { provider: 'codex', agent: 'mine' })) ?? {};
  expect([code, message]).toEqual([
    'invalid',
    'agent: provider codex has only one agent: omit the field "agent"',
  ]);
});

test('A session whose agent is not installed or disabled is refused with the remedy.', async () => {
  const { client } = shared();
  expect(await refusal(client, { agent: 'kimi' })).toEqual(
    anError(
      'provider_unavailable',
      /^acp: command "kimi" not found on PATH: install it \(.*\), or set providers\.acp\.agents\.kimi\.command$/,
    ),
  );
  expect(await refusal(client, { agent: 'off' })).toEqual({
    code: 'provider_unavailable',
    message: 'acp: disabled: set providers.acp.agents.off.enabled to true',
  });
});

test('Requests for models and the login status accept the name of an agent.', async () => {
  const { client } = shared();
  const params = { provider: 'acp' as const };
  const models = (agent: string) => client.call(endpoints.listModels, { params, query: { agent } });
  expect(await models('mine')).toEqual(expect.any(Array));
  await expect(models('nobody')).rejects.toMatchObject({ code: 'invalid' });
  await expect(models('kimi')).rejects.toMatchObject({ code: 'provider_unavailable' });
  const status = await client.call(endpoints.getAcpAuthStatus, { query: { agent: 'mine' } });
  expect(status.mode).toBe('agent_managed');
});

test('A catalogue agent on PATH runs without any configuration.', async () => {
  const bin = testDirectory();
  vi.stubEnv('PATH', pathWith(bin, 'gemini'));
  vi.stubEnv('GEMINI_API_KEY', 'key-of-gemini');
  const { client } = await testRuntime();
  const [acp] = await client.call(endpoints.listProviders, {});
  expect(acp).toMatchObject({ id: 'acp', enabled: false, healthy: false });
  expect(acp?.detail).toMatch(/^not configured: .*, or name an agent that is installed: .*gemini/);
  expect((await agentsOf(client)).gemini).toMatchObject({
    display_name: 'Gemini CLI',
    configured: false,
    installed: true,
    healthy: true,
    default: false,
  });
  const { session, turn } = await said(client, 'gemini', 'env GEMINI_API_KEY');
  expect([session.agent, turn.text]).toEqual(['gemini', 'key-of-gemini']);
});

test('A catalogue agent does not run if the acp provider is disabled.', async () => {
  const bin = testDirectory();
  vi.stubEnv('PATH', pathWith(bin, 'gemini'));
  const { client } = await testRuntime({ config: { providers: { acp: { enabled: false } } } });
  await expect(said(client, 'gemini', 'say hi')).rejects.toMatchObject({
    code: 'provider_unavailable',
    message: 'acp: disabled: set providers.acp.enabled to true',
  });
});

test('A turn fails while its agent is missing from the configuration, and runs once it is back.', async () => {
  await using directory = tempDirectory();
  const withAgents = (agents: object) => ({
    directory: directory.path,
    config: { providers: { acp: { ...demoSection(), agents } } },
  });
  const { session } = await withRuntime(
    ({ client }) => said(client, 'mine', 'say one'),
    withAgents({ mine: demoSection() }),
  );
  await withRuntime(async ({ client }) => {
    const turn = await run(client, new Watch(client, session.id, 8000), session, 'say two');
    expect(turn).toMatchObject({
      status: 'failed',
      error: anError('provider_unavailable', '[providers.acp.agents.mine]'),
    });
    expect((await sessionOf(client, session)).status).toBe('ready');
  }, withAgents({}));
  await withRuntime(
    async ({ client }) => {
      const turn = await run(client, new Watch(client, session.id, 8000), session, 'say three');
      expect(turn.text).toBe('three');
    },
    withAgents({ mine: demoSection() }),
  );
});
