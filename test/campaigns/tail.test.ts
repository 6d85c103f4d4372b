import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { RuntimeEventRecord } from '../../src/api/events.ts';
import { endpoints } from '../../src/api/index.ts';
import { type Client, HttpClient } from '../../src/client/client.ts';
import { settle } from '../support/settle.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { selfCommand } from '../../src/core/lib/self.ts';
import {
  samePlatform,
  startServer,
  type TestServer,
  untilNothingCarries,
} from '../support/server.ts';
import { keptPort } from '../support/kept-port.ts';
import { tempDirectory } from '../support/temp.ts';
import { openSession, send } from '../support/turns.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { type Random, seeded } from './crash/random.ts';
import { scaled } from '../support/patience.ts';

const tailKills = Number(process.env.TAIL_KILLS || 8);
const serverKills = Number(process.env.SERVER_KILLS || 2);
const seed = Number(process.env.SEED || Date.now() % 2 ** 31);

it(
  'cadre events tail with a cursor file prints the whole log exactly once, even if it and the server are killed.',
  { timeout: scaled(60_000 + tailKills * 3000 + serverKills * 10_000) },
  async () => {
    process.stdout.write(
      `tail campaign: ${tailKills} kills of the reader, ${serverKills} of the server, SEED=${seed}\n`,
    );
    await using place = tempDirectory();
    const directory = place.path;
    const random = seeded(seed);
    const args = ['--port', String(await keptPort())];
    let server = await startServer(directory, { args });
    const load = new Load(server, directory);
    const output = path.join(directory, 'output.jsonl');
    const over = new AbortController();
    try {
      const reading = readOn(directory, output, random.fork(), over.signal);
      for (let kills = 0; kills < serverKills; kills++) {
        await systemClock.sleep(random.between(200, 1500));
        await server.end('SIGKILL');
        server = await startServer(directory, { args });
      }
      await reading.killed(tailKills);
      over.abort();
      await reading.done;
      await load.stop(server.client);

      const last = startTail(directory, output, ['--no-follow']);
      expect(await once(last, 'exit')).toEqual([0, null]);
      const read = linesOf(output);
      const seqs = read.map(({ seq }) => seq);
      expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
      expect(settle(read)).toEqual(settle(await wholeLog(server.client)));
      expect(read.length).toBeGreaterThan(tailKills);
      process.stdout.write(`tail campaign: ${read.length} events read, ${load.turns} turns\n`);
    } finally {
      over.abort();
      load.end();
      await server.end('SIGKILL');
      await untilNothingCarries(directory);
    }
  },
);

function startTail(directory: string, output: string, more: string[] = []) {
  const { file, args } = selfCommand();
  const stdout = fs.openSync(output, 'a');
  const flags = ['--data-dir', directory, '--json', 'events', 'tail'];
  const cursor = ['--cursor-file', path.join(directory, 'cursor')];
  const child = spawn(file, [...args, ...flags, ...cursor, ...more], {
    stdio: ['ignore', stdout, 'ignore'],
    env: { PATH: process.env.PATH ?? '', HOME: directory, ...samePlatform() },
  });
  fs.closeSync(stdout);
  return child;
}

/** Starts the reader again and again, each killed at some moment of its life. */
function readOn(directory: string, output: string, random: Random, signal: AbortSignal) {
  let kills = 0;
  const done = (async () => {
    while (!signal.aborted) {
      const tail = startTail(directory, output);
      const exited = once(tail, 'exit');
      await systemClock.sleep(random.between(50, 700));
      tail.kill('SIGKILL');
      const [, signal] = await exited;
      // While the server is away it may have ended by itself.
      if (signal !== null) kills++;
    }
  })();
  return {
    done,
    killed: (count: number) =>
      expectEventually(() => kills, count * 3000 + 30_000).toBeGreaterThanOrEqual(count),
  };
}

/** A few sessions that are never idle, whatever becomes of the server. */
class Load {
  turns = 0;
  readonly #over = new AbortController();
  readonly #workers: Promise<void>[];
  readonly #client: Client;

  constructor(server: TestServer, directory: string) {
    this.#client = new HttpClient({ url: server.url, token: server.token });
    this.#workers = Array.from({ length: 3 }, () => this.#work(directory));
  }

  async stop(client: Client): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#workers);
    await expectEventually(async () => {
      const query = { status: 'running' as const };
      return (await client.call(endpoints.listSessions, { query })).length;
    }).toBe(0);
  }

  end(): void {
    this.#over.abort();
    this.#client.close();
  }

  async #work(directory: string): Promise<void> {
    let session: string | undefined;
    while (!this.#over.signal.aborted) {
      try {
        session ??= (await openSession(this.#client, directory)).id;
        await send(this.#client, session, `repeat 30 1 word ${this.turns}`);
        this.turns++;
      } catch {
        // Busy, or the server is away.
      }
      await systemClock.sleep(20);
    }
  }
}

function linesOf(file: string): RuntimeEventRecord[] {
  const lines = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as RuntimeEventRecord);
}

async function wholeLog(client: Client): Promise<RuntimeEventRecord[]> {
  const log: RuntimeEventRecord[] = [];
  for (let after = 0, goesOn = true; goesOn;) {
    const query = { after_seq: after, limit: 10_000 };
    const { value, headers } = await client.ask(endpoints.replayEvents, { query });
    log.push(...value);
    goesOn = headers['x-next-after-seq'] !== undefined;
    after = Number(headers['x-next-after-seq'] ?? 0);
  }
  return log;
}
