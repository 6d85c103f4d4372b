import { setTimeout as pause } from 'node:timers/promises';
import { ownMegabytes, treeMegabytes } from '../../../bench/client/process.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import { streamEvents } from '../../../src/client/stream.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import type { TestServer } from '../../support/server.ts';
import { hasPty } from '../../support/tui/pty.ts';
import { send } from '../../support/turns.ts';
import { EventWaiter } from '../crash/load.ts';
import { Subscriber } from '../fanout-follower.ts';
import { type Figures, Meter } from './meter.ts';
import { firstPages } from '../million-start.ts';
import { type Place, untilLastPage } from './place.ts';
import { measureScreen } from './screen.ts';

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

/** Measures a start, then everything while all agents and followers are alive, then a start after a kill. */
export async function measure(place: Place, requests: number): Promise<Figures> {
  const meter = new Meter(requests);
  const server = await meter.start('start', place);
  try {
    await server.client.call(endpoints.dropSearchIndex, {});
    meter.note('memory after the start', ownMegabytes(server.pid));
    await measureAlive(place, server, meter);
    const alive = place.working.slice(0, place.size.agents);
    await inParallel(alive, (id) => send(server.client, id, 'wait 600000'));
  } finally {
    await server.end('SIGKILL');
  }
  const next = await meter.start('start after a kill', place);
  await next.end('SIGTERM');
  return meter.figures;
}

async function measureAlive(place: Place, server: TestServer, meter: Meter): Promise<void> {
  const over = new AbortController();
  const pulse = new EventWaiter();
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
    await measureTurns(place, server, { pulse, followers, meter });
    meter.note('memory with all alive', ownMegabytes(server.pid));
    meter.note('memory of all processes', treeMegabytes(server.pid));
    await measureSearch(place, server.client, meter);
    await measureLists(place, server, meter);
    if (hasPty) await measureScreen(place.directory, meter);
    meter.note('memory at the end', ownMegabytes(server.pid));
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
    meter,
  }: { pulse: EventWaiter; followers: readonly Subscriber[]; meter: Meter },
): Promise<void> {
  const turn = async (id: string) => {
    const over = pulse.turnEnded(id);
    await send(client, id, 'say pong');
    await over;
  };
  const alive = working.slice(0, size.agents);
  await meter.once('start of an agent', () => inParallel(alive, turn));
  meter.divide('start of an agent', alive.length);
  await meter.once('turn, all agents at once', () => Promise.all(alive.map((id) => turn(id))));
  meter.divide('turn, all agents at once', alive.length);
  const [first = ''] = alive;
  await meter.often('turn of one word, for all followers', async () => {
    await turn(first);
    const { storage } = await client.call(endpoints.getDiagnostics, {});
    await Promise.all(followers.map((one) => one.untilSeq(storage.latest_seq)));
  });
}

async function measureSearch({ size }: Place, client: Client, meter: Meter): Promise<void> {
  const find = (q: string) => client.call(endpoints.search, { query: { q } });
  await meter.once('search: index of 100 sessions', async () => {
    await find('please');
    while ((await client.call(endpoints.getSearchIndex, {})).state !== 'ready')
      await pause(INDEX_LOOK_MS);
  });
  meter.divide('search: index of 100 sessions', size.sessions / 100);
  for (const [name, q] of Object.entries(QUERIES)) await meter.often(name, () => find(q));
}

async function measureLists({ working }: Place, { client }: TestServer, meter: Meter) {
  const [session = ''] = working;
  for (const [what, first] of firstPages(client, session, PAGE))
    await meter.often(`first page: ${what}`, first);
  await meter.often('first page: worktrees', () =>
    client.call(endpoints.listWorktrees, { query: { limit: PAGE } }),
  );
  for (const [what, endpoint, limit] of [
    ['sessions', endpoints.listSessions, PAGE],
    ['worktrees', endpoints.listWorktrees, 3],
  ] as const) {
    const name = `each page: ${what}`;
    const { pages, lastPage } = await meter.once(name, () =>
      untilLastPage(client, endpoint, limit),
    );
    meter.divide(name, pages);
    await meter.often(`last page: ${what}`, lastPage);
  }
  const { storage } = await client.call(endpoints.getDiagnostics, {});
  const query = { after_seq: storage.latest_seq - PAGE, limit: PAGE };
  await meter.often('last page: events', () => client.call(endpoints.replayEvents, { query }));
  await meter.often('diagnostics', () => client.call(endpoints.getDiagnostics, {}));
}

/** Runs something for each entry, a few at a time. */
async function inParallel<T>(all: readonly T[], run: (one: T) => Promise<unknown>): Promise<void> {
  const left = all.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const one of left) await run(one);
    }),
  );
}
