import { afterEach, describe, expect, test, vi } from 'vitest';
import { agentName } from '../../../src/api/provider-kinds.ts';
import { endpoints } from '../../../src/api/index.ts';
import { agentsOnPath } from '../../../src/frontends/cli/talk/agents-on-path.ts';
import { catalogue } from '../../../src/agents/acp/catalogue.ts';
import { type CatalogueEntry, unknownAgent } from '../../../src/agents/acp/catalogue-entry.ts';
import { pathWith } from '../../support/providers/demo-agents.ts';
import { initialized, testRawAgent } from '../../support/providers/raw-agent.ts';
import { testRuntime } from '../../support/runtime.ts';
import { testDirectory } from '../../support/temp.ts';

/** An agent that nobody has heard of. */
const added: CatalogueEntry = {
  ...unknownAgent,
  name: 'novel',
  display_name: 'Novel Agent',
  command: 'novel-agent',
  files: ['.novel'],
  install: 'by magic',
};

describe('the catalogue', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    const at = catalogue.indexOf(added);
    if (at >= 0) (catalogue as CatalogueEntry[]).splice(at, 1);
  });

  test.for(catalogue.map((entry) => [entry.name, entry] as const))(
    'has of %s a name that can be used, and quirks with the version they were seen in.',
    ([name, entry]) => {
      expect(agentName.safeParse(name).success).toBe(true);
      expect(name).not.toBe('default');
      expect(entry.install).not.toBe('');
      expect(Object.keys(entry.home)).not.toEqual([]);
      for (const { seen_in, what } of entry.quirks) {
        expect(seen_in).toMatch(/\d/);
        expect(what).toMatch(/^[A-Z].*\.$/);
      }
    },
  );

  test('has each name and each command once.', () => {
    for (const field of ['name', 'command'] as const)
      expect(new Set(catalogue.map((entry) => entry[field])).size).toBe(catalogue.length);
  });

  test('passes every variable of a set by which an agent is given a model of its own.', () => {
    const passed = (agent: string) => catalogue.find(({ name }) => name === agent)?.pass_env;
    const provider = ['API_KEY', 'BASE_URL', 'TYPE', 'WIRE_API'];
    expect(passed('copilot')).toEqual(
      expect.arrayContaining(provider.map((one) => `COPILOT_PROVIDER_${one}`)),
    );
    expect(passed('copilot')).toEqual(expect.arrayContaining(['COPILOT_MODEL', 'COPILOT_OFFLINE']));
    const model = ['API_KEY', 'BASE_URL', 'MAX_CONTEXT_SIZE', 'NAME', 'PROVIDER_TYPE'];
    expect(passed('kimi')).toEqual(expect.arrayContaining(model.map((one) => `KIMI_MODEL_${one}`)));
  });

  test('is asked about an agent with a command of its own, once that says what it calls itself.', async () => {
    const { open } = await testRawAgent({
      methods: { initialize: () => initialized({ agentInfo: { name: 'pi-acp', version: '1' } }) },
    });
    const session = await open();
    expect((await session.record()).agent_asks).toBeNull();
    await session.run('hello');
    expect((await session.record()).agent_asks).toBe(false);
  });

  test('is the only place to add an agent to: then it is found, listed, named and used.', async () => {
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
});
