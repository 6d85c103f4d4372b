import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import {
  bootId,
  type Identity,
  identify,
  isAlive,
  MARKER_VARIABLE,
} from '../../../src/core/children/identity.ts';
import type { SqlValue } from '../../../src/core/store/raw-statement.ts';
import { untilNothingRemains } from '../../campaigns/crash/leftovers.ts';
import { stubbornAgent, stubbornProcesses } from '../../campaigns/stubborn-agent.ts';
import {
  assertUnreachable,
  expectHeldBack,
  expectOrderlyStop,
  keeperOf,
  LIMIT_MS,
  poll,
  sayUntil,
  send,
  keeperDirectory,
} from './keeper.ts';
import { identified } from './shim.ts';
import { openDatabase } from '../../support/database.ts';
import { scaled } from '../../support/patience.ts';
import { openRuntime, withRuntime } from '../../support/runtime.ts';
import { startServer, startServerWithAgent } from '../../support/server.ts';

/** Longer than any test, in milliseconds. */
const HOUR_MS = '3600000';

// test/campaigns/keeper.test.ts has the case in which the keeper dies together with the server.
it('After a SIGKILL, no child is left, even if it left its group or cleared its environment.', async () => {
  const directory = keeperDirectory();
  const server = await startServerWithAgent(directory, stubbornAgent(directory));
  const spawned = await sayUntil(server, 'spawn 300000; silent', /^spawned (\d+)/);
  const agents = [...Object.values(stubbornProcesses(directory)), identified(Number(spawned[1]))];
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

it('A keeper that replaced a killed one ends every process group.', async () => {
  const directory = keeperDirectory();
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

it('The sweep spares a process with a reused pid, or with a record of another boot.', async () => {
  const directory = keeperDirectory();
  await withRuntime(async () => undefined, { directory });
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

    await withRuntime(
      async ({ client }) => {
        const { orphans_killed: killed } = await client.call(endpoints.getRecovery, {});
        expect(killed).toEqual([ours.pid]);
        await poll('the end of the one that is ours', () => !isAlive(ours));
        expect([otherTime, otherBoot, otherRun].map(isAlive)).toEqual([true, true, true]);
      },
      { directory },
    );
  } finally {
    for (const { child } of decoys) child.kill('SIGKILL');
  }
});

// test/campaigns/keeper.test.ts has the other failpoint, after the registration of the child.
it('A command does not run before the next start if the server dies at child.gated.', () =>
  expectHeldBack('child.gated'));

it('A stop leaves no process, and the next start finds it clean and the turn interrupted.', async () => {
  const directory = keeperDirectory();
  const server = await startServer(directory, { env: { CADRE_SERVER_DRAIN_MS: '100' } });
  await sayUntil(server, 'spawn 300000; silent', /^spawned/);
  await expectOrderlyStop(server);

  await withRuntime(
    async ({ client }) => {
      const { previous_stop, turns_failed, orphans_killed } = await client.call(
        endpoints.getRecovery,
        {},
      );
      expect({ previous_stop, turns_failed, orphans_killed }).toEqual({
        previous_stop: 'clean',
        turns_failed: [],
        orphans_killed: [],
      });
      const [session] = await client.call(endpoints.listSessions, {});
      const [turn] = await client.call(endpoints.listTurns, {
        params: { session_id: session?.id ?? '' },
      });
      expect(turn).toMatchObject({
        status: 'interrupted',
        error: { code: 'runtime_stopping' },
      });
    },
    { directory },
  );
  expect(await untilNothingRemains(directory, scaled(LIMIT_MS))).toMatchObject({ left: [] });
});

it('A stop kills an agent that ignores SIGTERM, with its whole process group.', async () => {
  const directory = keeperDirectory();
  const env = { CADRE_SERVER_DRAIN_MS: '0' };
  const server = await startServerWithAgent(directory, stubbornAgent(directory), env);
  await sayUntil(server, 'say here; silent', /here/);
  const agents = Object.values(stubbornProcesses(directory));
  expect(agents.map(isAlive)).toEqual([true, true, true]);
  await expectOrderlyStop(server);
  expect(agents.map(isAlive)).toEqual([false, false, false]);
});

it('A stop does not wait any longer after a second SIGTERM.', async () => {
  const directory = keeperDirectory();
  const server = await startServerWithAgent(directory, stubbornAgent(directory), {
    CADRE_SERVER_DRAIN_MS: HOUR_MS,
  });
  await sayUntil(server, 'say here; silent', /here/);
  const agents = Object.values(stubbornProcesses(directory));
  process.kill(server.pid, 'SIGTERM');
  await poll('the beginning of the stop', () => server.log().includes('"msg":"stopping"'));
  await expectOrderlyStop(server);
  expect(agents.map(isAlive)).toEqual([false, false, false]);
});

it('A stop does not wait for an agent that is starting at the same moment.', async () => {
  const directory = keeperDirectory();
  const agent = { command: '/bin/sh', args: ['-c', 'sleep 300'] };
  const killed = await startServerWithAgent(directory, agent, {
    CADRE_FAILPOINTS: 'turn.accepted=kill',
  });
  await send(killed, 'say hello').catch(assertUnreachable);
  await killed.exited;

  const acp = { ...agent, request_timeout_ms: Number(HOUR_MS) };
  const { runtime, client } = await openRuntime(directory, { config: { providers: { acp } } });
  const stopped = runtime.stop().then(() => 'stopped');
  expect(await stopped).toBe('stopped');
  client.close();
});

/** Starts a process that does not belong to the server, in its own group. */
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

/** Writes to the database of a stopped server. */
async function write(
  directory: string,
  work: (run: (sql: string, ...values: SqlValue[]) => void) => Promise<void>,
): Promise<void> {
  const db = await openDatabase(directory);
  await work((sql, ...values) => void db.transact((tx) => db.prepare(sql).run(tx, ...values)));
  await db.close();
}
