import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import type { ProviderId } from '../../src/api/provider-kinds.ts';
import { runTurn } from '../support/turns.ts';
import { claudeConfig } from './claude-env.ts';
import { codexConfig } from './codex-env.ts';
import { type ModelTap, tapModel } from './model-tap.ts';
import { type AgentServer, onServer } from './on-server.ts';

type Tapped = AgentServer & { tap: ModelTap };

/** Runs `use` with a server whose agent talks to the scripted model through a tap. */
async function onTapped(
  configure: (given: { home: string; modelUrl: string }) => string,
  use: (server: Tapped) => Promise<void>,
): Promise<void> {
  await using taps = new AsyncDisposableStack();
  let tap: ModelTap | undefined;
  await onServer(
    async (home, { url }) => {
      tap = taps.use(await tapModel(url));
      return configure({ home, modelUrl: tap.url });
    },
    (server) => use({ ...server, tap: tap as ModelTap }),
  );
}

/** Runs a turn, and returns it with the conversation that the model has received. */
async function say({ client, tap }: Tapped, session: string, word: string) {
  const { turn } = await runTurn(client, session, `@@say:${word}`);
  expect(turn).toMatchObject({ status: 'completed', text: word });
  return { turn, conversation: JSON.stringify(tap.lastConversation()) };
}

/** Forks a session with two turns at the first one, and continues both sessions. */
async function expectForkAtFirst(server: Tapped, provider: ProviderId): Promise<void> {
  const { client, work } = server;
  const { id } = await client.call(endpoints.createSession, { body: { provider, cwd: work } });
  const { turn } = await say(server, id, 'swallow');
  expect(turn.agent_turn_ref).toEqual(expect.any(String));
  await say(server, id, 'heron');
  const forked = await client.call(endpoints.forkSession, {
    params: { session_id: id },
    body: { turn_id: turn.turn_id },
  });
  const inFork = await say(server, forked.id, 'plover');
  expect(inFork.conversation).toContain('swallow');
  expect(inFork.conversation).not.toContain('heron');
  expect(inFork.conversation).not.toContain('handoff_record');
  const params = { session_id: forked.id };
  const { forked_from } = await client.call(endpoints.getSession, { params });
  expect(forked_from).toMatchObject({ session_id: id, past_turns: 1, way: 'agent' });

  const inOrigin = await say(server, id, 'gull');
  for (const word of ['swallow', 'heron']) expect(inOrigin.conversation).toContain(word);
  expect(inOrigin.conversation).not.toContain('plover');
  const again = await say(server, forked.id, 'wren');
  for (const word of ['swallow', 'plover']) expect(again.conversation).toContain(word);
  expect(again.conversation).not.toContain('heron');
}

test('A session of Claude that is forked at its first turn continues from there, and the session keeps both turns.', () =>
  onTapped(claudeConfig, (server) => expectForkAtFirst(server, 'claude')));

test('A session of Codex that is forked at its first turn continues from there, and the session keeps both turns.', () =>
  onTapped(codexConfig, (server) => expectForkAtFirst(server, 'codex')));

test('The history of a conversation that Claude no longer has reaches the fork as a record.', () =>
  onTapped(claudeConfig, async (server) => {
    const { client, work, home } = server;
    const body = { provider: 'claude' as const, cwd: work };
    const { id } = await client.call(endpoints.createSession, { body });
    await say(server, id, 'swallow');
    const params = { session_id: id };
    const forked = await client.call(endpoints.forkSession, { params, body: {} });
    rmSync(`${home}/claude/projects`, { recursive: true });
    const { conversation } = await say(server, forked.id, 'plover');
    expect(conversation).toContain('handoff_record');
    expect(conversation).toContain('swallow');
  }));
