import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ownMegabytes, treeMegabytes } from '../../../bench/client/process.ts';
import { quantile } from '../../../bench/report/statistics.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import { streamEvents } from '../../../src/client/stream.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import type { TestServer } from '../../support/server.ts';
import { hasPty } from '../../support/tui/pty.ts';
import { send } from '../../support/turns.ts';
import { Pulse } from '../crash/load.ts';
import { Subscriber } from '../fanout-follower.ts';
import { firstPages } from '../million-start.ts';
import { type Place, untilLastPage } from './place.ts';
import { screenTimes } from './screen.ts';

/** Values by their names. */
export type Figures = Record<string, number>;

const STARTS = 3;
const PAGE = 50;
const AT_ONCE = 8;
const INDEX_LOOK_MS = 20;
/** Queries by their names. The words of the last one are in many texts, but never in the same. */
const QUERIES = {
  'search: a title': '"piece 7"',
  'search: a word of each text': 'please',
  'search: a prefix': 'piec*',
  'search: a word of no text': 'nowhere',
  'search: two words without a common text': 'looked done',
};

/** Measures starts, then everything while all agents and followers are alive, then a start after a kill. */
export async function measure(place: Place, requests: number): Promise<Figures> {
  const starts: number[] = [];
  for (let n = 0; n < STARTS; n++) {
    const started = performance.now();
    const server = await place.start();
    starts.push(performance.now() - started);
    await server.end('SIGTERM');
  }
  const figures: Figures = { start: Math.min(...starts) };
  const server = await place.start();
  try {
    await server.client.call(endpoints.dropSearchIndex, {});
    figures['memory after the start'] = ownMegabytes(server.pid);
    await measureAlive(place, server, requests, figures);
    const alive = place.working.slice(0, place.size.agents);
    await inParallel(alive, (id) => send(server.client, id, 'wait 600000'));
  } finally {
    await server.end('SIGKILL');
  }
  const killed = performance.now();
  const next = await place.start();
  figures['start after a kill'] = performance.now() - killed;
  await next.end('SIGTERM');
  return figures;
}

async function measureAlive(
  place: Place,
  server: TestServer,
  requests: number,
  figures: Figures,
): Promise<void> {
  const over = new AbortController();
  const pulse = new Pulse();
  const following = (async () => {
    const scope = { client: server.client, clock: systemClock, after: 'latest' as const };
    for await (const event of streamEvents({ ...scope, signal: over.signal })) pulse.see(event);
  })();
  const followers: Subscriber[] = [];
  try {
    const path = '/v1/events/stream?after_seq=latest';
    await inParallel(Array.from({ length: place.size.followers }), async () => {
      followers.push(await Subscriber.open(server, { path }));
    });
    await measureTurns(place, server, { pulse, followers, requests, figures });
    figures['memory with all alive'] = ownMegabytes(server.pid);
    figures['memory of all processes'] = treeMegabytes(server.pid);
    await measureSearch(server.client, requests, figures);
    await measureLists(place, server, requests, figures);
    if (hasPty) Object.assign(figures, await screenTimes(place.directory));
    figures['memory at the end'] = ownMegabytes(server.pid);
  } finally {
    for (const one of followers) one.close();
    over.abort();
    await following;
  }
}

/** Starts all agents, and measures turns with all followers. */
async function measureTurns(
  { working, size }: Place,
  { client }: TestServer,
  {
    pulse,
    followers,
    requests,
    figures,
  }: { pulse: Pulse; followers: readonly Subscriber[]; requests: number; figures: Figures },
): Promise<void> {
  const turn = async (id: string) => {
    const over = pulse.turnEnded(id);
    await send(client, id, 'say pong');
    await over;
  };
  const alive = working.slice(0, size.agents);
  figures['starts of all agents'] = await timeOf(() => inParallel(alive, turn));
  figures['one turn of each agent'] = await timeOf(() => Promise.all(alive.map((id) => turn(id))));
  const [first = ''] = alive;
  figures['turn of one word'] = await usualTime(requests, () => turn(first));
  figures['turn until each follower has its events'] = await usualTime(requests, async () => {
    await turn(first);
    const { storage } = await client.call(endpoints.getDiagnostics, {});
    await Promise.all(followers.map((one) => one.untilSeq(storage.latest_seq)));
  });
}

async function measureSearch(client: Client, requests: number, figures: Figures): Promise<void> {
  const find = (q: string) => client.call(endpoints.search, { query: { q } });
  figures['search: the first one'] = await timeOf(() => find('please'));
  figures['search: until the index is complete'] = await timeOf(async () => {
    while ((await client.call(endpoints.getSearchIndex, {})).state !== 'ready')
      await pause(INDEX_LOOK_MS);
  });
  for (const [name, q] of Object.entries(QUERIES))
    figures[name] = await usualTime(requests, () => find(q));
}

async function measureLists(
  { directory, working }: Place,
  { client }: TestServer,
  requests: number,
  figures: Figures,
): Promise<void> {
  const [session = ''] = working;
  for (const [what, first] of firstPages(client, session, PAGE))
    figures[`first page: ${what}`] = await usualTime(requests, first);
  const worktrees = () => client.call(endpoints.listWorktrees, { query: { limit: PAGE } });
  figures['first page: worktrees'] = await usualTime(requests, worktrees);
  const sessions = await untilLastPage(client, endpoints.listSessions, PAGE);
  figures['last page: sessions'] = await usualTime(requests, sessions.lastPage);
  figures['all pages: sessions'] = sessions.ms;
  const last = await untilLastPage(client, endpoints.listWorktrees, 5);
  figures['last page: worktrees'] = await usualTime(requests, last.lastPage);
  const { storage } = await client.call(endpoints.getDiagnostics, {});
  const query = { after_seq: storage.latest_seq - PAGE, limit: PAGE };
  figures['last page: events'] = await usualTime(requests, () =>
    client.call(endpoints.replayEvents, { query }),
  );
  figures['diagnostics'] = await usualTime(requests, () =>
    client.call(endpoints.getDiagnostics, {}),
  );
  const { file, args } = selfCommand();
  const list = [...args, '--data-dir', directory, 'sessions', 'list'];
  figures['command: cadre sessions list'] = await usualTime(3, () =>
    promisify(execFile)(file, list),
  );
}

/** The time of a request in milliseconds that a quarter of the requests does not exceed: other programs disturb the rest. */
async function usualTime(requests: number, run: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  // The first one reads what the others find in memory.
  for (let n = -1; n < requests; n++) {
    const ms = await timeOf(run);
    if (n >= 0) times.push(ms);
  }
  return quantile(times, 0.25);
}

async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await run();
  return performance.now() - started;
}

async function inParallel<T>(all: readonly T[], run: (one: T) => Promise<unknown>): Promise<void> {
  const left = all.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const one of left) await run(one);
    }),
  );
}
