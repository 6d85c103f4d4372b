import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { decide } from '../support/providers/calls.ts';
import { WatchedSession } from '../support/providers/provider-harness.ts';
import { startServer, testServer, untilNothingCarries } from '../support/server.ts';
import { testDirectory } from '../support/temp.ts';
import { ofKind, openSession } from '../support/turns.ts';
import { startModelServer } from './model-server.ts';
import { makePlaces } from './on-server.ts';

const PATIENCE_MS = 30_000;

/** Kills a server while `prompt`, which writes the line `once` to `approved`, waits, and approves it afterwards. */
export async function expectApprovedAfterRestart(agent: {
  configure: (place: { home: string; modelUrl: string }) => string;
  more: object;
  prompt: string;
}): Promise<void> {
  await using model = await startModelServer();
  const root = testDirectory('agent');
  const { server: directory, home, work } = makePlaces(root);
  const config = agent.configure({ home, modelUrl: model.url });
  const before = await startServer(directory, { config });
  const session = await openSession(before.client, work, agent.more);
  const first = new WatchedSession(before.client, session.id, PATIENCE_MS);
  const { turnId, approval } = await first.asks(agent.prompt);
  await before.end('SIGKILL');
  await first.watch[Symbol.asyncDispose]();
  await untilNothingCarries(root);
  expect(existsSync(join(work, 'approved'))).toBe(false);

  const { client } = await testServer({ directory, config });
  const again = new WatchedSession(client, session.id, PATIENCE_MS);
  await using watch = again.watch;
  await decide(client, approval, 'accept');
  expect((await watch.end(turnId)).kind).toBe('turn.completed');
  expect(readFileSync(join(work, 'approved'), 'utf8')).toBe('once\n');
  expect(ofKind(watch.events, 'approval.requested')).toHaveLength(1);
}
