import { afterEach, expect, test, vi } from 'vitest';
import { agentName } from '../../../src/api/provider-kinds.ts';
import { endpoints } from '../../../src/api/index.ts';
import { agentsOnPath } from '../../../src/frontends/cli/session/agents-on-path.ts';
import { catalogue } from '../../../src/agents/acp/catalogue.ts';
import { type CatalogueEntry, unknownAgent } from '../../../src/agents/acp/catalogue-entry.ts';
import { pathWith } from '../../support/providers/demo-agents.ts';
import { initialized, testRawAgent } from '../../support/providers/raw-agent.ts';
import { testRuntime } from '../../support/runtime.ts';
import { testDirectory } from '../../support/temp.ts';
const added: CatalogueEntry = {
  ...unknownAgent,
  name: 'novel',
  display_name: 'Novel Agent',
  command: 'novel-agent',
  files: ['.novel'],
  install: 'by magic',
};

afterEach(() => {
  vi.unstubAllEnvs();
  const at = catalogue.indexOf(added);
  if (at >= 0) (catalogue as CatalogueEntry[]).splice(at, 1);
});

test.for(catalogue.map((entry) => [entry.name, entry] as const))(
  'The entry of %s has a valid name, and each quirk names the version in which it was seen.',
  ([name, entry]) => {
    expect(agentName.safeParse(name).success).toBe(true);
    expect(name).not.toBe('default');
    expect(entry.install).not.toBe('');
    expect(Object.keys(entry.home)).not.toEqual([]);
    for (const what of Object.values(entry.quirks))
      expect(what).toMatch(/^[A-Z].* \([^()]*\d[^()]*\)\.$/);
  },
);

test('Each name and each command is in the catalogue once.', () => {
  for (const field of ['name', 'command'] as const)
    expect(new Set(catalogue.map((entry) => entry[field])).size).toBe(catalogue.length);
});

test('Copilot and Kimi receive every variable that selects a model of the user.', () => {
  const passed = (agent: string) => catalogue.find(({ name }) => name === agent)?.pass_env;
  const provider = ['API_KEY', 'BASE_URL', 'TYPE', 'WIRE_API'];
  expect(passed('copilot')).toEqual(
    expect.arrayContaining(provider.map((one) => `COPILOT_PROVIDER_${one}`)),
  );
  expect(passed('copilot')).toEqual(expect.arrayContaining(['COPILOT_MODEL', 'COPILOT_OFFLINE']));
  const model = ['API_KEY', 'BASE_URL', 'MAX_CONTEXT_SIZE', 'NAME', 'PROVIDER_TYPE'];
  expect(passed('kimi')).toEqual(expect.arrayContaining(model.map((one) => `KIMI_MODEL_${one}`)));
});

test('An agent with a custom command is found in the catalogue by the name that it reports.', async () => {
  const { open } = await testRawAgent({
    methods: { initialize: () => initialized({ agentInfo: { name: 'pi-acp', version: '1' } }) },
  });
  const session = await open();
  expect((await session.record()).agent_asks).toBeNull();
  await session.run('hello');
  expect((await session.record()).agent_asks).toBe(false);
});

test('An agent that is added to the catalogue is found on PATH, listed, and used by its name.', async () => {
  const bin = testDirectory();
  const PATH = pathWith(bin, 'novel-agent');
  (catalogue as CatalogueEntry[]).push(added);
  expect(agentsOnPath({ PATH }).map(({ name }) => name)).toContain('novel');
  vi.stubEnv('PATH', PATH);
  const { client } = await testRuntime();
  const [acp] = await client.call(endpoints.listProviders, {});
  expect(acp?.detail).toContain('novel');
  expect(acp?.agents).toContainEqual(
    expect.objectContaining({ name: 'novel', display_name: 'Novel Agent', healthy: true }),
  );
  const named = (agent: string) =>
    client.call(endpoints.createSession, { body: { provider: 'acp', agent } });
  expect((await named('novel')).agent).toBe('novel');
  await expect(named('nobody')).rejects.toThrow(/choose from .*novel/);
});
