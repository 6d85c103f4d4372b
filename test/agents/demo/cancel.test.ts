import { setImmediate as nextLoop } from 'node:timers/promises';
import type { AgentContext } from '@agentclientprotocol/sdk/unstable';
import { expect, test } from 'vitest';
import { newHistory } from '../../../src/agents/demo/history.ts';
import { runTurn } from '../../../src/agents/demo/agent.ts';
import { Session } from '../../../src/agents/demo/sessions.ts';
import { Turn } from '../../../src/agents/demo/turn.ts';
import { chunkOf, openClient, testHost, openSession } from './client.ts';
import { testDirectory } from '../../support/temp.ts';

test.each([
  ['waits', 'say ready; wait 60000; say never'],
  ['repeats', 'say ready; repeat 9 60000 again; say never'],
  ['floods', 'say ready; flood 100000000'],
  ['sends nothing', 'say ready; silent; say never'],
])('A cancel ends a turn that %s.', async (_what, script) => {
  const { client, sessionId } = await openSession();
  const answer = client.prompt(sessionId, script);
  await client.update((update) => chunkOf(update) === 'ready');
  await client.cancel(sessionId);
  expect(await answer).toMatchObject({ stopReason: 'cancelled', usage: {} });
  expect(client.said()).not.toContain('never');
});

test('A cancel ends a turn with an open permission request, and withdraws the request.', async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  const client = await openClient({
    askUser(_request, signal) {
      asked.resolve(signal);
      return new Promise(() => undefined);
    },
  });
  const sessionId = await client.newSession();
  const answer = client.prompt(sessionId, 'ask deploy; say never');
  const questionSignal = await asked.promise;
  await client.cancel(sessionId);
  expect(await answer).toMatchObject({ stopReason: 'cancelled' });
  expect(questionSignal.aborted).toBe(true);
  await client.update((update) => 'status' in update && update.status === 'failed');
});

test('An answer "cancelled" to a permission request ends the turn.', async () => {
  const { client, sessionId } = await openSession({ askUser: () => ({ outcome: 'cancelled' }) });
  const answer = await client.prompt(sessionId, 'ask deploy; say never');
  expect(answer.stopReason).toBe('cancelled');
  expect(client.said()).toBe('');
});

test('A cancel also ends queued turns, which leave no trace in the history.', async () => {
  const { client, sessionId } = await openSession();
  const first = client.prompt(sessionId, 'say ready; silent');
  const second = client.prompt(sessionId, 'say never');
  await client.update((update) => chunkOf(update) === 'ready');
  await client.cancel(sessionId);
  expect(await Promise.all([first, second])).toMatchObject([
    { stopReason: 'cancelled' },
    { stopReason: 'cancelled' },
  ]);
  await client.prompt(sessionId, 'history');
  expect(client.said()).toBe('[ready][earlier turns: 1; last prompt: say ready; silent]');
});

test('A cancel for an idle or unknown session does not affect the next turn.', async () => {
  const { client, sessionId } = await openSession();
  await client.cancel(sessionId);
  await client.cancel('unknown');
  expect(await client.prompt(sessionId, 'say hi')).toMatchObject({ stopReason: 'end_turn' });
});

test('A cancel is ignored after ignore-cancel, in that turn only.', async () => {
  const { client, sessionId } = await openSession();
  const answer = client.prompt(sessionId, 'ignore-cancel; say ready; wait 20; say done');
  await client.update((update) => chunkOf(update) === 'ready');
  await client.cancel(sessionId);
  expect(await answer).toMatchObject({ stopReason: 'end_turn' });
  expect(client.said()).toBe('[ready][done]');

  const next = client.prompt(sessionId, 'say again; silent');
  await client.update((update) => chunkOf(update) === 'again');
  await client.cancel(sessionId);
  expect(await next).toMatchObject({ stopReason: 'cancelled' });
});

test('A turn is cancelled when the client cancels its request.', async () => {
  const { client, sessionId } = await openSession();
  const taken = new AbortController();
  const prompt = [{ type: 'text' as const, text: 'ignore-cancel; say ready; silent' }];
  const answer = client.agent.request(
    'session/prompt',
    { sessionId, prompt },
    { cancellationSignal: taken.signal },
  );
  await client.update((update) => chunkOf(update) === 'ready');
  taken.abort();
  expect(await answer).toMatchObject({ stopReason: 'cancelled' });
});

test('A turn ends with its session, even after ignore-cancel.', async () => {
  const { client, sessionId } = await openSession();
  const answer = client.prompt(sessionId, 'ignore-cancel; say ready; silent');
  await client.update((update) => chunkOf(update) === 'ready');
  await client.agent.request('session/close', { sessionId });
  expect(await answer).toMatchObject({ stopReason: 'cancelled' });
});

test('A turn ends with the connection, and its text is kept.', async () => {
  const stateDir = testDirectory();
  const { client, sessionId } = await openSession({ stateDir });
  const answer = client.prompt(sessionId, 'ignore-cancel; say ready; silent');
  await client.update((update) => chunkOf(update) === 'ready');
  await client.disconnect();
  await expect(answer).rejects.toThrow('ACP connection closed');

  const next = await openClient({ stateDir });
  await next.agent.request('session/load', { sessionId, cwd: '/work', mcpServers: [] });
  await next.update((update) => chunkOf(update) === 'ready');
});

test('A cancel takes effect during a flood, even if the client always accepts more.', async () => {
  const turn = unheardTurn('flood 30000');
  const answer = runTurn(turn);
  await nextLoop();
  turn.cancel();
  expect(await answer).toMatchObject({ stopReason: 'cancelled' });
  expect(turn.chunks).toBeLessThan(30_000);
});

/** A turn whose updates are accepted without any delay. */
function unheardTurn(text: string): Turn {
  const files = { save: () => undefined, read: () => undefined, list: () => [] };
  const client: Pick<AgentContext, 'notify'> = { notify: () => Promise.resolve() };
  return new Turn({
    session: new Session(newHistory('session', '/work'), files),
    prompt: { text, images: [] },
    client: client as AgentContext,
    host: testHost(),
    requestSignal: new AbortController().signal,
  });
}
