import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { endpoints } from '../../src/api/index.ts';
import { type Client, HttpClient } from '../../src/client/client.ts';
import { selfCommand } from '../../src/core/lib/self.ts';
import { untilNothingCarries } from './server.ts';
import { tempDirectory } from './temp.ts';

/** Whether a file system can be mounted in a mount namespace. */
export const canMount =
  spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

interface SmallDisk {
  client: Client;
  /** The data directory, as the test sees it. */
  data: string;
  /** Fills the disk except for so many bytes. */
  fill(leave?: number): void;
  free(): void;
  kill(): Promise<void>;
  /** Kills the server and starts another one on the same disk; resolves with its client. */
  restart(): Promise<Client>;
}

/** A server whose data is on a disk of a few megabytes. */
export async function onSmallDisk(
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
      // The disk stays mounted while its server is dead.
      `mount -t tmpfs -o size=${size} tmpfs "$0" && while "$@" 2>&1; echo ended; read -r _; do :; done`,
      mounted,
      ...command,
    ],
    {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { PATH: process.env.PATH ?? '', HOME: directory, CADRE_DEMO_STATE: directory },
    },
  );
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const inside = `/proc/${child.pid}/root${mounted}`;
  let server: { url: string; pid: number } | undefined;
  const clients: HttpClient[] = [];
  const line = async (): Promise<string> => {
    const { value, done } = await lines.next();
    return done ? 'ended' : value;
  };
  /** Resolves with a client of the starting server. Rejects with its output. */
  const started = async (): Promise<Client> => {
    const words = await line();
    const { url, pid } = JSON.parse(words) as { url?: string; pid?: number };
    if (url === undefined || pid === undefined) {
      await line();
      throw new Error(words);
    }
    server = { url, pid };
    const token = fs.readFileSync(path.join(inside, 'data/auth/token'), 'utf8').trim();
    const client = new HttpClient({ url, token });
    clients.push(client);
    return client;
  };
  const endServer = async () => {
    if (!server) return;
    process.kill(server.pid, 'SIGKILL');
    server = undefined;
    while ((await line()) !== 'ended');
  };
  try {
    const client = await started();
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
          await endServer();
          child.stdin.end();
          await exited;
        },
        async restart() {
          await endServer();
          child.stdin.write('\n');
          return started();
        },
      },
      directory,
    );
  } finally {
    for (const client of clients) client.close();
    if (server) process.kill(server.pid, 'SIGKILL');
    child.kill('SIGKILL');
    await exited;
    await untilNothingCarries(directory);
  }
}

/** Repeats a request until it is refused; returns the error. */
export async function refused(work: () => Promise<unknown>): Promise<unknown> {
  for (let tries = 0; tries < 5000; tries++) {
    try {
      await work();
    } catch (error) {
      return error;
    }
  }
  throw new Error('nothing was refused');
}

/** Returns all events. */
export async function whole(client: Client) {
  return client.call(endpoints.replayEvents, { query: { limit: 10_000 } });
}
