import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { testRawAgent } from '../../support/providers/raw-agent.ts';
import { envOf } from '../../support/providers/scripted-agent.ts';

/** Returns the environment of the agent process of a new session. */
async function environmentOf(env: Record<string, string> = {}): Promise<Map<string, string>> {
  const { open, agents } = await testRawAgent({}, { acp: { env } });
  await (await open()).run('hello');
  return new Map(Object.entries(envOf(agents[0]?.pid ?? 0)));
}

beforeEach(() => {
  vi.stubEnv('OPENAI_API_KEY', 'sk-secret');
  vi.stubEnv('CADRE_TOKEN', 'secret');
  vi.stubEnv('SOMETHING_ELSE', 'x');
  vi.stubEnv('LC_ALL', 'C.UTF-8');
});
afterEach(() => vi.unstubAllEnvs());

test('An agent receives PATH, HOME and the locale, but no keys or other variables of the server.', async () => {
  const found = await environmentOf();
  expect(found.get('PATH')).toBe(process.env.PATH);
  expect(found.get('HOME')).toBe(process.env.HOME);
  expect(found.get('LC_ALL')).toBe('C.UTF-8');
  for (const name of ['OPENAI_API_KEY', 'CADRE_TOKEN', 'SOMETHING_ELSE'])
    expect(found.has(name)).toBe(false);
});

test('An agent receives NODE_EXTRA_CA_CERTS, so that it trusts the same servers as cadre.', async () => {
  vi.stubEnv('NODE_EXTRA_CA_CERTS', '/etc/ssl/company.pem');
  expect((await environmentOf()).get('NODE_EXTRA_CA_CERTS')).toBe('/etc/ssl/company.pem');
});

test('An agent receives the variables that the configuration names.', async () => {
  expect((await environmentOf({ SOMETHING_ELSE: 'y' })).get('SOMETHING_ELSE')).toBe('y');
});

test('The HTTP server of opencode is protected by a new password at each start.', async () => {
  const password = async () => (await environmentOf()).get('OPENCODE_SERVER_PASSWORD');
  const first = await password();
  expect(first).toMatch(/^[\w-]{43}$/);
  expect(await password()).not.toBe(first);
});
