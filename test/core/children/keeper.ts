import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { Identity } from '../../../src/core/children/identity.ts';
import { streamEvents } from '../../../src/client/stream.ts';
import { AppError } from '../../../src/api/errors.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { remaining, untilNothingRemains } from '../../campaigns/crash/leftovers.ts';
import { endStubbornProcesses } from '../../campaigns/stubborn-agent.ts';
import { withRuntime } from '../../support/runtime.ts';
import { startServerWithAgent, type TestServer } from '../../support/server.ts';
import { testDirectory } from '../../support/temp.ts';
import { scaled } from '../../support/patience.ts';
import { identified } from './shim.ts';

/** Time after a kill within which all processes must be gone. */
export const LIMIT_MS = 2000;

/** Makes a directory, which is removed when the test has finished, together with all processes started for it. */
export function keeperDirectory(): string {
  const directory = testDirectory('keeper');
  onTestFinished(() => {
    for (const line of remaining(directory)) process.kill(Number.parseInt(line, 10), 'SIGKILL');
    endStubbornProcesses(directory);
  });
  return directory;
}

export async function send({ client, directory }: TestServer, text: string): Promise<string> {
  const session = await client.call(endpoints.createSession, {
    body: { provider: 'acp', cwd: directory },
  });
  const params = { session_id: session.id };
  await client.call(endpoints.sendTurn, { params, body: { input: { type: 'text', text } } });
  return session.id;
}

export function assertUnreachable(error: unknown): void {
  if (!(error instanceof AppError) || error.code !== 'unreachable') throw error;
}

/** Sends a turn to a new session; resolves once the output of the agent matches. */
export async function sayUntil(
  server: TestServer,
  text: string,
  wanted: RegExp,
): Promise<RegExpExecArray> {
  const sessionId = await send(server, text);
  const said = new Map<unknown, string>();
  for await (const { kind, payload } of streamEvents({
    client: server.client,
    clock: systemClock,
    sessionId,
  })) {
    if (kind !== 'message.delta') continue;
    const all = `${said.get(payload.item_id) ?? ''}${String(payload.text)}`;
    said.set(payload.item_id, all);
    const match = wanted.exec(all);
    if (match) return match;
  }
  throw new Error('the stream ended');
}

export async function keeperOf({ client }: TestServer): Promise<Identity> {
  const { children } = await client.call(endpoints.getDiagnostics, {});
  return identified(children.keeper_pid ?? 0);
}

export async function expectOrderlyStop(server: TestServer): Promise<void> {
  const keeper = await keeperOf(server).catch(() => undefined);
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(remaining(server.directory, keeper)).toEqual([]);
}

/** Polls, because no signal reports the death of a process that is not a child. */
export async function poll<T>(
  what: string,
  ask: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  for (
    const deadline = performance.now() + scaled(5000);
    performance.now() < deadline;
    await pause(10)
  ) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
  }
  throw new Error(`waited for ${what} in vain`);
}

/** Expects that a command does not run if the server dies at a failpoint before it, and runs at the next start. */
export async function expectHeldBack(place: string): Promise<void> {
  const directory = keeperDirectory();
  const proof = path.join(directory, 'it-ran');
  const agent = { command: '/bin/sh', args: ['-c', 'echo > "$1"', 'agent', proof] };
  const server = await startServerWithAgent(directory, agent, {
    CADRE_FAILPOINTS: `${place}=kill`,
  });
  // The kill may come before the answer: the turn is on disk before it starts.
  await send(server, 'say hello').catch(assertUnreachable);
  expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await untilNothingRemains(directory, scaled(LIMIT_MS))).toMatchObject({ left: [] });
  expect(fs.existsSync(proof)).toBe(false);

  // The turn was acknowledged and no agent has seen it, so that the next server starts the command.
  await withRuntime(
    async () => void (await poll('the command to run', () => fs.existsSync(proof))),
    {
      directory,
      config: { providers: { acp: agent } },
    },
  );
  expect(await untilNothingRemains(directory, scaled(LIMIT_MS))).toMatchObject({ left: [] });
}
