import { stringify } from 'smol-toml';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { WatchedSession } from '../support/providers/provider-harness.ts';
import { openSession } from '../support/turns.ts';
import { codexEnvironment } from './codex-env.ts';
import { agentStart } from './install.ts';
import type { ModelServer } from './model-server.ts';
import { type AgentServer, onServer } from './on-server.ts';

/** The real codex-acp, logged in to nothing; what it calls OpenAI is the scripted model. */
function configuration(env: Record<string, string>) {
  return (home: string, { url }: ModelServer) => {
    const { command, args } = agentStart('codex-acp');
    const own = { ...codexEnvironment({ modelUrl: url, login: true }, home), ...env };
    const section = { command, args, env: own };
    return stringify({ providers: { acp: { agents: { 'codex-acp': section } } } });
  };
}

const PATIENCE_MS = 30_000;
const params = { agent: 'codex-acp' };

test('The agent codex-acp is authenticated with the key in its environment after its first refusal, without a person.', () =>
  onServer(configuration({ OPENAI_API_KEY: 'dummy-key' }), async (server) => {
    const session = await watched(server);
    await using _watch = session.watch;
    const turn = await session.run('@@say:one two');
    expect(turn).toMatchObject({ status: 'completed', error: null });
    expect(turn.text).toContain('one two');
    expect(server.model.requests.at(-1)?.authorization).toBe('Bearer dummy-key');
    // Later processes use the login that it stores in its home directory.
    const status = await server.client.call(endpoints.checkAgentLogin, { params });
    expect(status).toMatchObject({ authenticated: true });
    const out = await server.client.call(endpoints.logOutAgent, { params });
    expect(out).toMatchObject({ authenticated: false });
  }));

test('A turn of codex-acp without a key fails with the login methods and the login command.', () =>
  onServer(configuration({}), async (server) => {
    const session = await watched(server);
    await using _watch = session.watch;
    const turn = await session.run('@@say:nothing');
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'auth_required' } });
    expect(turn.error?.message).toMatch(/api-key.*chat-gpt/);
    expect(turn.error?.message).toContain('cadre providers login acp --agent codex-acp');
    const login = await server.client.call(endpoints.getAgentLogin, { params });
    expect(login.methods.find(({ id }) => id === 'api-key')).toMatchObject({ needs_person: true });
    expect(login).toMatchObject({ can_log_out: true, auth: { authenticated: false } });
    const body = { method_id: 'api-key' };
    const made = server.client.call(endpoints.authenticateAgent, { params, body });
    await expect(made).rejects.toThrow(/OPENAI_API_KEY/);
  }));

async function watched({ client, work }: AgentServer) {
  const { id } = await openSession(client, work, { agent: 'codex-acp' });
  return new WatchedSession(client, id, PATIENCE_MS);
}
