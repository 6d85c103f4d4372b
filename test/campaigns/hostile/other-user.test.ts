import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import { identify, isAlive } from '../../../src/core/children/identity.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { ended, kill, printed, run, stdout } from '../../support/processes/work.ts';
import { becomingRoot, helperDirectory, unprivileged, WHY_NOT } from './unprivileged.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { scaled } from '../../support/patience.ts';

const SHORT = '[processes]\nkill_grace_ms = 100\n[server]\ndrain_ms = 200\n';
const NOT_ENDED = anError('not_ended', /runs? as another user|running as another user/);

/** A server of an unprivileged user, and the command that makes a child of its become root's. */
interface Harness {
  directory: string;
  config: string;
  /** A shell command that runs as root, ignores TERM, has a group of the process, and prints its pid. */
  rootChild: string;
  server: TestServer;
  start(): Promise<TestServer>;
}

async function withHarness(
  test: (harness: Harness) => Promise<void>,
  agentAsRoot = false,
): Promise<void> {
  await using directory = tempDirectory('other-user');
  const helper = becomingRoot(helperDirectory(directory.path));
  if (!helper || !unprivileged) throw new Error(WHY_NOT);
  const place = path.join(directory.path, 'data');
  fs.mkdirSync(place);
  const pids = path.join(helperDirectoryOf(directory.path), 'pids');
  const script = `trap "" TERM; echo $$ >> ${pids}; echo pid $$; while :; do sleep 600; done`;
  const rootChild = `${helper.join(' ')} sh -c '${script}'`;
  const config = SHORT + (agentAsRoot ? rootAgent(helper, pids) : '');
  const user = unprivileged;
  const start = () => startServer(place, { config, user });
  const server = await start();
  try {
    await test({ directory: place, config, rootChild, server, start });
  } finally {
    await server.end('SIGKILL');
    for (const pid of pidsIn(pids)) endGroupMember(pid);
  }
}

const helperDirectoryOf = (directory: string) => path.join(directory, 'helper');

/** The demo agent below a shell of root that outlives it. */
function rootAgent(helper: readonly string[], pids: string): string {
  const { file, args } = selfCommand();
  const script = `trap "" TERM; echo $$ >> ${pids}; "$@"; while :; do sleep 600; done`;
  const [command, ...words] = [...helper, 'sh', '-c', script, 'agent', file, ...args, 'demo-agent'];
  return `[providers.acp]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(words)}\n`;
}

function pidsIn(file: string): number[] {
  return fs.existsSync(file)
    ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number)
    : [];
}

/** Ends a shell of root and the sleeper it waits for. */
function endGroupMember(pid: number): void {
  const children = fs.existsSync(`/proc/${pid}/task/${pid}/children`)
    ? fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
    : [];
  for (const one of [pid, ...children.map(Number)]) {
    try {
      process.kill(one, 'SIGKILL');
    } catch {
      // Gone by itself.
    }
  }
}

async function pidOf(
  server: TestServer,
  process: Awaited<ReturnType<typeof run>>,
): Promise<number> {
  await printed(server, process, 'pid ');
  return Number(/pid (\d+)/.exec(await stdout(server, process))?.[1]);
}

async function expectAlive(server: TestServer): Promise<void> {
  expect(await server.client.call(endpoints.getHealth, {})).toMatchObject({ status: 'ok' });
}

function runs(pid: number): boolean {
  const found = identify(pid);
  return found !== undefined && isAlive(found);
}

describe.skipIf(!unprivileged)('a child that runs as another user', () => {
  it('A kill ends the other processes, and its record reports a child of another user that still runs.', () =>
    withHarness(async ({ server, rootChild }) => {
      const started = await run(server, `${rootChild} & sleep 600`);
      const pid = await pidOf(server, started);
      await kill(server, started, 'enough');
      expect(await ended(server, started)).toMatchObject({
        status: 'killed',
        kill_reason: 'enough',
        failure: NOT_ENDED,
      });
      expect(runs(pid)).toBe(true);
      await expectAlive(server);
      expect(server.log()).toContain('cannot signal the remaining processes of a child');
      const { children } = await server.client.call(endpoints.getDiagnostics, {});
      expect(children).toMatchObject({ live: 0, out_of_reach: expect.any(Number) });
      expect(children.out_of_reach).toBeGreaterThan(0);
    }));

  it('The record of a killed process that runs as another user ends, and reports that the process was not ended.', () =>
    withHarness(async ({ server, rootChild }) => {
      const started = await run(server, `exec ${rootChild}`);
      await pidOf(server, started);
      await kill(server, started);
      expect(await ended(server, started)).toMatchObject({
        status: 'killed',
        exit_code: null,
        signal: null,
        failure: NOT_ENDED,
      });
      await expectAlive(server);
    }));

  it('A time limit ends the process, and its record reports a child of another user that still runs.', () =>
    withHarness(async ({ server, rootChild }) => {
      const started = await run(server, `${rootChild} & sleep 600`, { timeout_ms: 4000 });
      expect(await ended(server, started)).toMatchObject({
        status: 'timed_out',
        failure: NOT_ENDED,
      });
      await expectAlive(server);
    }));

  it('A command is completed when it ends, and its record reports a child of another user that still runs.', () =>
    withHarness(async ({ server, rootChild }) => {
      const started = await run(server, `${rootChild} & read -r _ < fifo; exit 0`, {
        cwd: fifoIn(server.directory),
      });
      await pidOf(server, started);
      fs.writeFileSync(path.join(server.directory, 'fifos', 'fifo'), 'go\n');
      expect(await ended(server, started)).toMatchObject({
        status: 'completed',
        exit_code: 0,
        failure: NOT_ENDED,
      });
      await expectAlive(server);
    }));

  it('The server stops and starts cleanly while a child of another user still runs.', () =>
    withHarness(async ({ server, rootChild, start }) => {
      const started = await run(server, `${rootChild} & sleep 600`);
      const pid = await pidOf(server, started);
      expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
      expect(runs(pid)).toBe(true);
      await expectCleanStart(await start());
    }));

  it('After a SIGKILL, the server starts, reports a process of another user that still runs, and stops cleanly.', () =>
    withHarness(async ({ server, rootChild, start }) => {
      const started = await run(server, `exec ${rootChild}`);
      const pid = await pidOf(server, started);
      await server.end('SIGKILL');
      const next = await start();
      try {
        expect(runs(pid)).toBe(true);
        const recovery = await next.client.call(endpoints.getRecovery, {});
        expect(recovery).toMatchObject({ previous_stop: 'unclean', orphans_killed: [] });
        expect(next.log()).toContain('an earlier run left processes of another user');
        await expectAlive(next);
        expect(await next.end('SIGTERM')).toEqual({ code: 0, signal: null });
      } finally {
        await next.end('SIGKILL');
      }
      await expectCleanStart(await start());
    }));

  it('The session of an agent that runs as another user can be closed, and the server stops cleanly.', () =>
    withHarness(async ({ server, directory, start }) => {
      const { client } = server;
      const session = await client.call(endpoints.createSession, {
        body: { provider: 'acp', cwd: directory },
      });
      const params = { session_id: session.id };
      const body = { input: { type: 'text' as const, text: 'say here; silent' } };
      await client.call(endpoints.sendTurn, { params, body });
      await expect
        .poll(
          async () => {
            const events = await client.call(endpoints.replaySessionEvents, { params, query: {} });
            return events.some(({ kind }) => kind === 'message.delta');
          },
          { timeout: scaled(15_000) },
        )
        .toBe(true);
      expect(await client.call(endpoints.closeSession, { params, body: {} })).toMatchObject({
        status: 'closed',
      });
      await expect
        .poll(async () => (await client.call(endpoints.getDiagnostics, {})).children.live, {
          timeout: scaled(15_000),
        })
        .toBe(0);
      await expectAlive(server);
      expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
      await expectCleanStart(await start());
    }, true));
});

async function expectCleanStart(next: TestServer): Promise<void> {
  try {
    const { previous_stop } = await next.client.call(endpoints.getRecovery, {});
    expect(previous_stop).toBe('clean');
    await expectAlive(next);
  } finally {
    await next.end('SIGTERM');
  }
}

/** A directory with a FIFO in it, for a command that is to wait for a word. */
function fifoIn(directory: string): string {
  const place = path.join(directory, 'fifos');
  fs.mkdirSync(place, { recursive: true });
  execFileSync('mkfifo', ['-m', '666', path.join(place, 'fifo')]);
  return place;
}
