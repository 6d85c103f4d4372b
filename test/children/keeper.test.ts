import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { bootId, type Identity, identify, isAlive } from '../../src/children/identity.ts';
import { MARKER_VARIABLE } from '../../src/children/marker.ts';
import { streamEvents } from '../../src/client/stream.ts';
import { AppError } from '../../src/errors.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openDatabase } from '../support/database.ts';
import type { SqlValue } from '../../src/store/raw-statement.ts';
import { openRuntime } from '../support/runtime.ts';
import { startServer, startServerWithAgent, type TestServer } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { remaining, untilNothingRemains } from '../campaigns/crash/census.ts';
import {
  endStubbornProcesses,
  stubbornAgent,
  stubbornProcesses,
} from '../campaigns/stubborn-agent.ts';
import { scaled } from '../support/patience.ts';

const LIMIT_MS = 2000;

describe('after a SIGKILL of the server', () => {
  it('nothing is left, neither a sleeper that left its group nor one that cleared its environment', async () => {
    await withDirectory(async (directory) => {
      const server = await startServerWithAgent(directory, stubbornAgent(directory));
      const spawned = await sayUntil(server, 'spawn 300000; silent', /^spawned (\d+)/);
      const agents = [
        ...Object.values(stubbornProcesses(directory)),
        identified(Number(spawned[1])),
      ];
      const keeper = await keeperOf(server);
      for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGABRT'] as const)
        process.kill(keeper.pid, name);
      expect(agents.map(isAlive)).toEqual([true, true, true, true]);

      await server.end('SIGKILL');

      expect(await untilNothingRemains(directory, scaled(LIMIT_MS), keeper)).toMatchObject({
        left: [],
      });
      expect(agents.map(isAlive)).toEqual([false, false, false, false]);
    });
  });

  it('a keeper that took the place of a killed one knows every group', async () => {
    await withDirectory(async (directory) => {
      const server = await startServerWithAgent(directory, stubbornAgent(directory));
      await sayUntil(server, 'say here; silent', /here/);
      const { hidden } = stubbornProcesses(directory);
      const first = await keeperOf(server);
      process.kill(first.pid, 'SIGKILL');
      const second = await poll('another keeper', async () => {
        const { children } = await server.client.call(endpoints.getDiagnostics, {});
        const pid = children.keeper_pid;
        return pid === null || pid === first.pid ? undefined : identify(pid);
      });
      expect(isAlive(hidden)).toBe(true);

      await server.end('SIGKILL');

      expect(await untilNothingRemains(directory, scaled(LIMIT_MS), second)).toMatchObject({
        left: [],
      });
      expect(isAlive(hidden)).toBe(false);
    });
  });

  it('the next start ends what is left when the keeper died with the server', async () => {
    await withDirectory(async (directory) => {
      const server = await startServerWithAgent(directory, stubbornAgent(directory));
      await sayUntil(server, 'say here; silent', /here/);
      const { leader, hidden, away } = stubbornProcesses(directory);
      const keeper = await keeperOf(server);
      // Stopped, it cannot start another keeper.
      process.kill(server.pid, 'SIGSTOP');
      process.kill(keeper.pid, 'SIGKILL');
      await poll('the death of the keeper', () => !isAlive(keeper));
      await server.end('SIGKILL');
      expect([leader, hidden, away].map(isAlive)).toEqual([true, true, true]);

      const next = await startServer(directory);
      const recovery = await next.client.call(endpoints.getRecovery, {});
      expect(recovery.previous_stop).toBe('unclean');
      expect(recovery.orphans_killed).toEqual(expect.arrayContaining([leader.pid, away.pid]));
      await poll('the end of all orphans', () => ![leader, hidden, away].some(isAlive));

      await expectOrderlyStop(next);
    });
  });
});

describe('the sweep at the start', () => {
  it('lets a process live that only has the number, or the boot, of one that was started', async () => {
    await withDirectory(async (directory) => {
      await expectOrderlyStop(await startServer(directory));
      const decoys = await Promise.all(
        [1, 2, 3, 4].map((n) => startDecoy(MARKER_VARIABLE, `forged-marker-${n}`)),
      );
      try {
        const [otherTime, otherBoot, otherRun, ours] = decoys.map(({ identity }) => identity) as [
          Identity,
          Identity,
          Identity,
          Identity,
        ];
        await write(directory, async (run) => {
          const child =
            'INSERT INTO children (pid, started_ticks, boot_id, marker, what, created_at) VALUES (?, ?, ?, ?, ?, 0)';
          run(
            child,
            otherTime.pid,
            otherTime.startedTicks - 1,
            bootId(),
            'm',
            'a number that is used again',
          );
          run(child, otherBoot.pid, otherBoot.startedTicks, 'another boot', 'm', 'of another boot');
          run(child, ours.pid, ours.startedTicks, bootId(), 'm', 'really ours');
          const unswept =
            'INSERT INTO runs (marker, boot_id, durability, started_at) VALUES (?, ?, ?, 0)';
          run(unswept, 'forged-marker-3', 'another boot', 'full');
        });

        const server = await startServer(directory);

        const { orphans_killed: killed } = await server.client.call(endpoints.getRecovery, {});
        expect(killed).toEqual([ours.pid]);
        await poll('the end of the one that is ours', () => !isAlive(ours));
        expect([otherTime, otherBoot, otherRun].map(isAlive)).toEqual([true, true, true]);
        await expectOrderlyStop(server);
      } finally {
        for (const { child } of decoys) child.kill('SIGKILL');
      }
    });
  });
});

describe('the gate', () => {
  it.each(['child.gated', 'child.registered'])(
    'holds a command back when the server dies at %s',
    async (place) => {
      await withDirectory(async (directory) => {
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

        // The turn was acknowledged and nobody has seen it: the next server starts the command after all.
        const next = await startServerWithAgent(directory, agent);
        await poll('the command to run', () => fs.existsSync(proof));
        await expectOrderlyStop(next);
      });
    },
  );
});

describe('a stop in order', () => {
  it('leaves nothing behind, and the next start finds it clean and the turn interrupted', async () => {
    await withDirectory(async (directory) => {
      const server = await startServer(directory, { env: { CADRE_SERVER_DRAIN_MS: '100' } });
      await sayUntil(server, 'spawn 300000; silent', /^spawned/);
      await expectOrderlyStop(server);

      const next = await startServer(directory);
      const { previous_stop, turns_failed, orphans_killed } = await next.client.call(
        endpoints.getRecovery,
        {},
      );
      expect({ previous_stop, turns_failed, orphans_killed }).toEqual({
        previous_stop: 'clean',
        turns_failed: [],
        orphans_killed: [],
      });
      const [session] = await next.client.call(endpoints.listSessions, {});
      const [turn] = await next.client.call(endpoints.listTurns, {
        params: { session_id: session?.id ?? '' },
      });
      expect(turn).toMatchObject({ status: 'interrupted', error: { code: 'runtime_stopping' } });
      await expectOrderlyStop(next);
    });
  });

  it('kills an agent that ignores TERM, with all of its group', async () => {
    await withDirectory(async (directory) => {
      const env = { CADRE_SERVER_DRAIN_MS: '0' };
      const server = await startServerWithAgent(directory, stubbornAgent(directory), env);
      await sayUntil(server, 'say here; silent', /here/);
      const agents = Object.values(stubbornProcesses(directory));
      expect(agents.map(isAlive)).toEqual([true, true, true]);
      await expectOrderlyStop(server);
      expect(agents.map(isAlive)).toEqual([false, false, false]);
    });
  });

  it('waits no longer after a second TERM', async () => {
    await withDirectory(async (directory) => {
      const server = await startServerWithAgent(directory, stubbornAgent(directory), {
        CADRE_SERVER_DRAIN_MS: '60000',
      });
      await sayUntil(server, 'say here; silent', /here/);
      const agents = Object.values(stubbornProcesses(directory));
      process.kill(server.pid, 'SIGTERM');
      await poll('the beginning of the stop', () => server.log().includes('"msg":"stopping"'));
      const before = performance.now();
      await expectOrderlyStop(server);
      // Neither the drain (60 s) nor the agent's time to end by itself (2 s).
      expect(performance.now() - before).toBeLessThan(scaled(1500));
      expect(agents.map(isAlive)).toEqual([false, false, false]);
    });
  });

  it('does not wait for an agent whose start began in the same moment', async () => {
    await withDirectory(async (directory) => {
      const agent = { command: '/bin/sh', args: ['-c', 'sleep 300'] };
      const killed = await startServerWithAgent(directory, agent, {
        CADRE_FAILPOINTS: 'turn.accepted=kill',
      });
      await send(killed, 'say hello').catch(assertUnreachable);
      await killed.exited;

      const acp = { ...agent, request_timeout_ms: 4000 };
      const { runtime, client } = await openRuntime(directory, { config: { providers: { acp } } });
      const before = performance.now();
      await runtime.stop();
      client.close();
      expect(performance.now() - before).toBeLessThan(scaled(2000));
    });
  });
});

/** A directory that is gone afterwards, with all that was started for it. */
async function withDirectory(test: (directory: string) => Promise<void>): Promise<void> {
  await using directory = tempDirectory('keeper');
  try {
    await test(directory.path);
  } finally {
    for (const line of remaining(directory.path))
      process.kill(Number.parseInt(line, 10), 'SIGKILL');
    endStubbornProcesses(directory.path);
  }
}

async function send({ client, directory }: TestServer, text: string): Promise<string> {
  const session = await client.call(endpoints.createSession, {
    body: { provider: 'acp', cwd: directory },
  });
  const params = { session_id: session.id };
  await client.call(endpoints.sendTurn, { params, body: { input: { type: 'text', text } } });
  return session.id;
}

function assertUnreachable(error: unknown): void {
  if (!(error instanceof AppError) || error.code !== 'unreachable') throw error;
}

/** Sends a turn to a new session; resolves once the agent has said something of that form. */
async function sayUntil(
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

async function keeperOf({ client }: TestServer): Promise<Identity> {
  const { children } = await client.call(endpoints.getDiagnostics, {});
  return identified(children.keeper_pid ?? 0);
}

async function expectOrderlyStop(server: TestServer): Promise<void> {
  const keeper = await keeperOf(server).catch(() => undefined);
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(remaining(server.directory, keeper)).toEqual([]);
}

/** A process that is none of the server's, alone in its group. */
async function startDecoy(
  name: string,
  value: string,
): Promise<{ child: ChildProcess; identity: Identity }> {
  const child = spawn('sleep', ['300'], {
    detached: true,
    stdio: 'ignore',
    env: { ...process.env, [name]: value },
  });
  await once(child, 'spawn');
  return { child, identity: identified(child.pid ?? 0) };
}

/** Writes to the database of a server that does not run. */
async function write(
  directory: string,
  work: (run: (sql: string, ...values: SqlValue[]) => void) => Promise<void>,
): Promise<void> {
  const db = await openDatabase(directory);
  await work((sql, ...values) => void db.transact((tx) => db.prepare(sql).run(tx, ...values)));
  await db.close();
}

function identified(pid: number): Identity {
  const found = identify(pid);
  if (!found) throw new Error(`no process ${pid}`);
  return found;
}

/** Asks again and again: of the death of a process that is not ours nobody is told. */
async function poll<T>(
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
