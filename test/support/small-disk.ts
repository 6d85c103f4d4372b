import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { endpoints } from '../../src/api/index.ts';
import { type Client, HttpClient } from '../../src/client/client.ts';
import { selfCommand } from '../../src/core/lib/self.ts';
import { untilNothingCarries } from './server.ts';
import { tempDirectory } from './temp.ts';

/** Whether a file system of our own can be mounted: in a namespace, so that nobody else sees it. */
export const canMount =
  spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

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

/** All events there are. */
export async function whole(client: Client) {
  return client.call(endpoints.replayEvents, { query: { limit: 10_000 } });
}
