import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { type Client, HttpClient } from '../../src/client/client.ts';
import { settle } from '../../src/client/settle.ts';
import { streamEvents } from '../../src/client/stream.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { selfCommand } from '../../src/lib/self.ts';
import { withRuntime } from '../support/runtime.ts';
import { startServer, untilNothingCarries, withServer } from '../support/server.ts';
import { shared } from '../support/shared.ts';
import { tempDirectory } from '../support/temp.ts';
import { openSession, runTurn, send } from '../support/turns.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { scaled } from '../support/patience.ts';

/** Whether a file system of our own can be mounted: in a namespace, so that nobody else sees it. */
const canMount =
  spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
const canLimit = spawnSync('prlimit', ['--version']).status === 0;
const canBeOthers =
  process.getuid?.() === 0 && spawnSync('setpriv', ['--reuid=65534', 'true']).status === 0;

const NOBODY = 65_534;

interface SmallDisk {
  client: Client;
  /** The directory of data, as the test sees it. */
  data: string;
  /** Fills it, but for so many bytes. */
  fill(leave?: number): void;
  free(): void;
  kill(): Promise<void>;
}

/** A server whose data is on a disk of a few megabytes. */
async function onSmallDisk(
  test: (disk: SmallDisk, directory: string) => Promise<void>,
  { size = '12m', minFree = 0 } = {},
): Promise<void> {
  await using place = tempDirectory('disk');
  const directory = place.path;
  const mounted = path.join(directory, 'mounted');
  fs.mkdirSync(mounted);
  const config = path.join(directory, 'config.toml');
  fs.writeFileSync(config, `retention.min_free_bytes = ${minFree}\n`);
  const { file, args } = selfCommand();
  const serve = ['--json', '--data-dir', path.join(mounted, 'data'), 'serve', '--port', '0'];
  const command = [file, ...args, ...serve, '--demo', '--config', config, '--log-level', 'error'];
  const child = spawn(
    'unshare',
    [
      '-rm',
      'sh',
      '-c',
      `mount -t tmpfs -o size=${size} tmpfs "$0" && exec "$@"`,
      mounted,
      ...command,
    ],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: process.env.PATH ?? '', HOME: directory, CADRE_DEMO_STATE: directory },
    },
  );
  const exited = once(child, 'exit');
  try {
    const { url, pid } = JSON.parse(await firstLine(child)) as { url: string; pid: number };
    const inside = `/proc/${pid}/root${mounted}`;
    const token = fs.readFileSync(path.join(inside, 'data/auth/token'), 'utf8').trim();
    const client = new HttpClient({ url, token });
    const filler = path.join(inside, 'filler');
    await test(
      {
        client,
        data: path.join(inside, 'data'),
        fill(leave = 0) {
          const { bavail, bsize } = fs.statfsSync(inside);
          try {
            fs.writeFileSync(filler, Buffer.alloc(bavail * bsize - leave));
          } catch (error) {
            // The server writes, too.
            if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          }
        },
        free: () => fs.rmSync(filler, { force: true }),
        async kill() {
          process.kill(pid, 'SIGKILL');
          await exited;
        },
      },
      directory,
    );
    client.close();
  } finally {
    child.kill('SIGKILL');
    await exited;
    await untilNothingCarries(directory);
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('no stdout');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the server did not start');
}

/** Does it again and again until it is refused; answers with the refusal. */
async function refused(work: () => Promise<unknown>): Promise<unknown> {
  for (let tries = 0; tries < 5000; tries++) {
    try {
      await work();
    } catch (error) {
      return error;
    }
  }
  throw new Error('nothing was refused');
}

async function whole(client: Client) {
  return client.call(endpoints.replayEvents, { query: { limit: 10_000 } });
}

describe.skipIf(!canMount)('a disk that is really full', () => {
  it('refuses new work as storage_full, goes on being read, and recovers by itself', () =>
    onSmallDisk(async ({ client, fill, free }, directory) => {
      const { id } = await openSession(client, directory);
      await runTurn(client, id, 'say before');
      fill();
      // What fits into pages that are there already is still taken.
      const refusal = await refused(() =>
        openSession(client, directory, { metadata: 'x'.repeat(9000) }),
      );
      expect(refusal).toMatchObject({ code: 'storage_full' });
      expect((refusal as Error).message).toMatch(/full.*free/);
      const sessions = await client.call(endpoints.listSessions, {});
      expect(sessions.map((session) => session.id)).toContain(id);
      const stored = await whole(client);
      const streamed: number[] = [];
      for await (const { seq } of streamEvents({ client, clock: systemClock })) {
        streamed.push(seq);
        if (seq === stored.at(-1)?.seq) break;
      }
      expect(streamed).toEqual(stored.map(({ seq }) => seq));
      free();
      expect((await runTurn(client, id, 'say after')).turn).toMatchObject({
        status: 'completed',
        text: 'after',
      });
    }));

  it('loses nothing that was acknowledged, also when the server is killed on it', () =>
    onSmallDisk(async ({ client, data, fill, free, kill }, directory) => {
      const acknowledged: string[] = [];
      const { id } = await openSession(client, directory);
      await runTurn(client, id, 'say once');
      fill();
      const refusal = await refused(async () => {
        acknowledged.push(
          (await openSession(client, directory, { metadata: 'x'.repeat(5000) })).id,
        );
      });
      expect(refusal).toMatchObject({ code: 'storage_full' });
      const before = await whole(client);
      free();
      const copy = path.join(directory, 'copy');
      fs.cpSync(data, copy, { recursive: true });
      await kill();
      const again = await startServer(copy);
      try {
        const kept = await again.client.call(endpoints.listSessions, { query: { limit: 500 } });
        expect(kept.map((session) => session.id)).toEqual(expect.arrayContaining(acknowledged));
        const now = settle(await whole(again.client));
        expect(now.slice(0, settle(before).length)).toEqual(settle(before));
      } finally {
        await again.end('SIGTERM');
      }
    }));

  it('is left some room: below retention.min_free_bytes new work is refused, and what runs goes on', () =>
    onSmallDisk(
      async ({ client, fill, free }, directory) => {
        const { id } = await openSession(client, directory);
        const { turn_id } = await send(client, id, 'repeat 100 10 tick');
        // What is left has room for the write-ahead log, which may take 4 MiB before it is written back.
        fill(7 * 1024 * 1024);
        const refusal = await refused(() => openSession(client, directory));
        expect(refusal).toMatchObject({ code: 'storage_full' });
        expect((refusal as Error).message).toContain('min_free_bytes');
        const params = { session_id: id, turn_id };
        const status = async () => (await client.call(endpoints.getTurn, { params })).status;
        await expectEventually(status).toBe('completed');
        free();
        const opens = async () => openSession(client, directory).then(Boolean, () => false);
        await expectEventually(opens).toBe(true);
      },
      { size: '24m', minFree: 8 * 1024 * 1024 },
    ));
});

describe.skipIf(!canLimit)('a server that may open no more files', () => {
  it('fails the turn that needs an agent, says why, answers on, and recovers by itself', () =>
    withServer(async ({ client, pid, directory }) => {
      const { id } = await openSession(client, directory);
      const open = fs.readdirSync(`/proc/${pid}/fd`).length;
      const limit = (soft: number) =>
        execFileSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:`]);
      const [, before = '1024'] =
        /open files\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? [];
      limit(open + 1);
      const { turn_id } = await send(client, id, 'say hello');
      const params = { session_id: id, turn_id };
      await expectEventually(
        async () => (await client.call(endpoints.getTurn, { params })).status,
      ).toBe('failed');
      const { error } = await client.call(endpoints.getTurn, { params });
      expect(error?.code).toBe('provider_unavailable');
      expect((await client.call(endpoints.getSession, { params })).status).toBe('ready');
      limit(Number(before));
      expect((await runTurn(client, id, 'say hello')).turn.status).toBe('completed');
    }));
});

describe.skipIf(!canBeOthers)('a data directory that the user may not write', () => {
  /** One that a server has left, which each test copies. */
  const left = shared<string>('directory', async (use) => {
    await using place = tempDirectory('left');
    await withRuntime(async () => undefined, { directory: place.path });
    await use(place.path);
  });

  it.each([
    ['of somebody else', (data: string) => fs.chownSync(data, 0, 0)],
    [
      'whose database is read-only',
      (data: string) => fs.chmodSync(path.join(data, 'events.cadre'), 0o400),
    ],
    ['that cannot be made', (data: string) => fs.rmSync(data, { recursive: true })],
  ])('%s ends the start with what to do, and changes nothing', async (_what, forbid) => {
    await using place = tempDirectory('readonly');
    const data = path.join(place.path, 'data');
    fs.cpSync(left(), data, { recursive: true });
    for (const name of ['', ...fs.readdirSync(data, { recursive: true })])
      fs.chownSync(path.join(data, String(name)), NOBODY, NOBODY);
    // Where tests have their directories, nobody else may look.
    fs.chmodSync(path.dirname(place.path), 0o711);
    fs.chmodSync(place.path, 0o755);
    forbid(data);
    const content = () => fs.existsSync(data) && fs.readFileSync(path.join(data, 'events.cadre'));
    const before = content();
    const { file, args } = selfCommand();
    const serve = [file, ...args, '--data-dir', data, 'serve', '--demo', '--port', '0'];
    const ended = spawnSync(
      'setpriv',
      [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...serve],
      {
        env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent' },
        encoding: 'utf8',
        timeout: scaled(10_000),
      },
    );
    expect(ended.stderr).toMatch(/^cadre: [^\n]*(make it|user)[^\n]*\n$/);
    expect(ended.status).toBeGreaterThan(0);
    expect(content()).toEqual(before);
  });
});
