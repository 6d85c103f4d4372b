import { stringify } from 'smol-toml';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { openSession, runTurn } from '../support/turns.ts';
import { codexEnvironment } from './codex-env.ts';
import { agentStart } from './install.ts';
import { type AgentServer, onServer } from './on-server.ts';

test('codex-acp, to which nobody has logged in, is logged in to with its key before its first turn', () =>
  withCodexAcp(
    { login: true },
    { OPENAI_API_KEY: 'dummy-key' },
    async ({ client, model, directory }) => {
      const session = await openSession(client, directory);
      const { turn } = await runTurn(client, session.id, '@@say:logged in');
      expect(turn).toMatchObject({ status: 'completed', text: 'logged in' });
      expect(model.requests.at(-1)?.authorization).toBe('Bearer dummy-key');
    },
  ));

test('codex-acp without a login and without a key says which logins there are', () =>
  withCodexAcp({ login: true }, {}, async ({ client, directory }) => {
    const session = await openSession(client, directory);
    const { turn } = await runTurn(client, session.id, '@@say:nothing');
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'auth_required' } });
    expect(turn.error?.message).toContain('cadre providers login acp');
  }));

test('the models of codex-acp can be learnt, and one is chosen together with an effort', () =>
  withCodexAcp({}, {}, async ({ client, model, directory }) => {
    const params = { provider: 'acp' as const };
    const models = await client.call(endpoints.listModels, { params });
    const chosen = models.find(({ id }) => id === 'gpt-5.5');
    expect(chosen).toBeDefined();
    const more = { model: chosen?.id, thinking_effort: 'high' };
    const session = await openSession(client, directory, more);
    const { turn } = await runTurn(client, session.id, '@@say:thought hard');
    expect(turn).toMatchObject({ status: 'completed', error: null });
    expect(model.requests).toContainEqual(
      expect.objectContaining({ model: 'gpt-5.5', effort: 'high', script: 'say:thought hard' }),
    );
  }));

function withCodexAcp(
  options: { login?: boolean },
  more: Record<string, string>,
  use: (server: AgentServer) => Promise<void>,
): Promise<void> {
  const configure = (home: string, { url }: { url: string }) => {
    const env = { ...codexEnvironment({ modelUrl: url, ...options }, home), ...more };
    const agents = { 'codex-acp': { ...agentStart('codex-acp'), env } };
    return stringify({ providers: { acp: { agents } } });
  };
  return onServer(configure, use);
}
