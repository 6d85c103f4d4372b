import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { testRawAgent } from '../../support/providers/raw-agent.ts';
import { envOf } from '../../support/providers/scripted-agent.ts';

/** What the process of a session's agent was given. */
async function environmentOf(env: Record<string, string> = {}): Promise<Map<string, string>> {
  const { open, agents } = await testRawAgent({}, { acp: { env } });
  await (await open()).run('hello');
  return new Map(Object.entries(envOf(agents[0]?.pid ?? 0)));
}

describe("an agent's environment", () => {
  beforeEach(() => {
    vi.stubEnv('OPENAI_API_KEY', 'sk-secret');
    vi.stubEnv('CADRE_TOKEN', 'secret');
    vi.stubEnv('SOMETHING_ELSE', 'x');
    vi.stubEnv('LC_ALL', 'C.UTF-8');
  });
  afterEach(() => vi.unstubAllEnvs());

  test("has what finds its programs and its home, and none of our keys or anybody else's", async () => {
    const found = await environmentOf();
    expect(found.get('PATH')).toBe(process.env.PATH);
    expect(found.get('HOME')).toBe(process.env.HOME);
    expect(found.get('LC_ALL')).toBe('C.UTF-8');
    for (const name of ['OPENAI_API_KEY', 'CADRE_TOKEN', 'SOMETHING_ELSE'])
      expect(found.has(name)).toBe(false);
  });

  test('has the certificates that Node is told to trust, so that an agent reaches what the server reaches', async () => {
    vi.stubEnv('NODE_EXTRA_CA_CERTS', '/etc/ssl/company.pem');
    expect((await environmentOf()).get('NODE_EXTRA_CA_CERTS')).toBe('/etc/ssl/company.pem');
  });

  test('has what the configuration names', async () => {
    expect((await environmentOf({ SOMETHING_ELSE: 'y' })).get('SOMETHING_ELSE')).toBe('y');
  });

  test('locks the HTTP server that opencode opens, with a password of its own at each start', async () => {
    const password = async () => (await environmentOf()).get('OPENCODE_SERVER_PASSWORD');
    const first = await password();
    expect(first).toMatch(/^[\w-]{43}$/);
    expect(await password()).not.toBe(first);
  });
});
