import { stringify } from 'smol-toml';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { openSession, runTurn } from '../support/turns.ts';
import { codexEnvironment } from './codex-env.ts';
import { agentStart } from './install.ts';
import { type AgentServer, onServer } from './on-server.ts';

test('The models of codex-acp are listed, and a session can choose a model together with an effort.', () =>
  withCodexAcp(async ({ client, model, work }) => {
    const params = { provider: 'acp' as const };
    const models = await client.call(endpoints.listModels, { params });
    const chosen = models.find(({ id }) => id === 'gpt-5.5');
    expect(chosen).toBeDefined();
    const more = { model: chosen?.id, thinking_effort: 'high' };
    const session = await openSession(client, work, more);
    const { turn } = await runTurn(client, session.id, '@@say:thought hard');
    expect(turn).toMatchObject({ status: 'completed', error: null });
    expect(model.requests).toContainEqual(
      expect.objectContaining({ model: 'gpt-5.5', effort: 'high', script: 'say:thought hard' }),
    );
  }));

function withCodexAcp(use: (server: AgentServer) => Promise<void>): Promise<void> {
  const configure = (home: string, { url }: { url: string }) => {
    const env = codexEnvironment({ modelUrl: url }, home);
    const agents = { 'codex-acp': { ...agentStart('codex-acp'), env } };
    return stringify({ providers: { acp: { agents } } });
  };
  return onServer(configure, use);
}
