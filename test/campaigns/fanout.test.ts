import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { type TestServer, testServer } from '../support/server.ts';
import { openSession, send } from '../support/turns.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { Subscriber, settledReplay } from './fanout-follower.ts';
import { scaled } from '../support/patience.ts';

const followers = Number(process.env.FANOUT_FOLLOWERS || 20);
const seconds = Number(process.env.FANOUT_SECONDS || 2);
const megabytes = Number(process.env.FANOUT_MEGABYTES || 8);
const isShort = !process.env.FANOUT_MEGABYTES;

const MIB = 1024 * 1024;
/** The others have event n before event n + 50 is committed. */
const MAX_LAG = 50;
const MAX_GROWTH = 64 * MIB;
/** Each says something up to 20 times a second. */
const SPEAKERS = 6;
/** How many megabytes of events fill what is kept by size: newest pages, newest events, and what V8 lets lie. */
const warmUp = isShort ? 24 : 64;
/** As many as it takes for what the server might keep for them to show. */
const stalledReaders = isShort ? 10 : 1;
/** In the short run V8 lets little lie; in both, none of the checks that test servers make of their answers. */
const heap = isShort ? '--max-semi-space-size=1 --max-old-space-size=128' : '';
const options = { env: { NODE_OPTIONS: heap } };

test(
  'All reading subscribers of 100 events per second stay less than 50 events behind, even if one subscriber does not read.',
  { timeout: scaled(60_000 + seconds * 10_000) },
  async () => {
    const server = await testServer(options);
    const lag = new Lag();
    const stalled = await Subscriber.open(server, { keeps: true });
    stalled.pause();
    for (let i = 1; i < followers; i++) {
      lag.followers.push(await Subscriber.open(server, { onTaken: (one) => lag.taken(one) }));
    }
    const turn = `repeat ${seconds * 20} 50 ${'one of many words '.repeat(20)}`;
    for (let i = 0; i < SPEAKERS; i++) {
      const { id } = await openSession(server.client, server.directory);
      await send(server.client, id, turn);
    }
    await untilIdle(server);
    const latest = await latestSeq(server);
    await Promise.all(lag.followers.map((one) => one.untilSeq(latest)));
    process.stdout.write(
      `fan-out: ${latest} events to ${followers} followers, at most ${lag.worst} behind\n`,
    );

    expect(latest).toBeGreaterThan(seconds * SPEAKERS * 10);
    expect(lag.worst).toBeLessThan(MAX_LAG);
    for (const one of lag.followers) {
      expect(one).toMatchObject({ jumps: [], gaps: 0, last: latest, events: latest });
      expect(one.sum).toBe(lag.followers[0]?.sum);
    }
    stalled.resume();
    await stalled.untilSeq(latest);
    expect(stalled.settled()).toEqual(await settledReplay(server.client));
    for (const one of [stalled, ...lag.followers]) one.close();
  },
);

test(
  'Subscribers that do not read while the log grows cost the server no memory, and receive all events later.',
  { timeout: scaled(60_000 + (warmUp + megabytes) * 2000) },
  async () => {
    const server = await testServer(options);
    const open = (count: number) =>
      Promise.all(Array.from({ length: count }, () => Subscriber.open(server, { keeps: true })));
    const stalled = await open(stalledReaders);
    for (const one of stalled) one.pause();
    const readers = await open(3);
    const [first] = readers as [Subscriber];
    const { id } = await openSession(server.client, server.directory);
    const level = Math.max(...(await grow(server, id, first, warmUp)));
    const later = await grow(server, id, first, megabytes);
    const growth = Math.max(...later) - level;
    const { streams } = await server.client.call(endpoints.getDiagnostics, {});
    process.stdout.write(
      `fan-out: ${inMib(first.bytes)} of events, ${inMib(level)} before, ${inMib(growth)} more at most, ` +
        `the slowest follower ${streams.max_lag} events behind\n`,
    );
    expect(growth).toBeLessThan(MAX_GROWTH);
    expect(streams.max_lag).toBeGreaterThan(0);

    for (const one of stalled) one.resume();
    const latest = await latestSeq(server);
    for (const one of [...stalled, ...readers]) await one.untilSeq(latest);
    const replay = await settledReplay(server.client);
    for (const one of [...stalled, ...readers]) {
      expect(one.gaps).toBe(0);
      expect(one.settled()).toEqual(replay);
      one.close();
    }
  },
);

/** How far the last of some followers is behind the first. */
class Lag {
  readonly followers: Subscriber[] = [];
  worst = 0;
  #newest = 0;
  #isLooking = false;

  /** Looks once everything that has come to this process was taken: its own slowness is not the server's. */
  taken({ last }: Subscriber): void {
    this.#newest = Math.max(this.#newest, last);
    if (this.#isLooking) return;
    this.#isLooking = true;
    setImmediate(() => {
      this.#isLooking = false;
      for (const { last } of this.followers) this.worst = Math.max(this.worst, this.#newest - last);
    });
  }
}

/** Has an agent talk until a reader has got so much more; answers the server's memory after each turn. */
async function grow(
  server: TestServer,
  sessionId: string,
  reader: Subscriber,
  more: number,
): Promise<number[]> {
  const memory: number[] = [];
  const enough = reader.bytes + more * MIB;
  while (reader.bytes < enough) {
    await send(server.client, sessionId, 'flood 100 8000');
    await untilIdle(server);
    await reader.untilSeq(await latestSeq(server));
    memory.push((await server.client.call(endpoints.getDiagnostics, {})).memory.rss_bytes);
  }
  return memory;
}

async function untilIdle({ client }: TestServer): Promise<void> {
  const query = { status: 'running' as const };
  const busy = async () => (await client.call(endpoints.listSessions, { query })).length;
  await expectEventually(busy, 30_000 + seconds * 10_000).toBe(0);
}

async function latestSeq({ client }: TestServer): Promise<number> {
  return (await client.call(endpoints.getDiagnostics, {})).storage.latest_seq;
}

function inMib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
