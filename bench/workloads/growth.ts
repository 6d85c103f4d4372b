import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { download } from '../client/download.ts';
import { fill } from '../client/fill.ts';
import { ask, createSession, sendTurn } from '../client/http.ts';
import { treeMegabytes } from '../client/process.ts';
import { endsTurn, Stream } from '../client/stream.ts';
import { together } from '../client/together.ts';
import { eventsAtOne, nameAt } from '../report/growth-chart.ts';
import { median } from '../report/statistics.ts';
import { rotated } from '../rounds.ts';
import { type Server, withServer } from '../subject.ts';
import { type Measures, type RoundContext, workload } from '../workload.ts';

/** How many times the state of the smallest directory. */
const SCALES = [1, 10, 100] as const;

const REST_MS = 1000;
const UNITS = {
  start: 'ms',
  'idle memory': 'MB',
  'newest sessions': 'ms',
  'events in the middle': 'ms',
  'create a session': 'ms',
  'turn of ten words': 'ms',
} as const;

type What = keyof typeof UNITS;

interface Size {
  /** Events at scale 1. */
  events: number;
  starts: number;
  requests: number;
}

/**
 * Figures that may become slower as the state grows. The figure at scale 1 has its own unit. The figures at 10 and 100
 * are multiples of it in the same round, so the workload needs no baseline.
 */
export const growth = workload<Size>({
  about:
    'the cost of the same work with event logs of three sizes: 1x, 10x and 100x (full: 10,000 to 1,000,000 events, short: 300 to 30,000). The values at 10x and 100x are multiples of the value at 1x',
  needs: 'process',
  units: Object.fromEntries(
    Object.entries(UNITS).flatMap(([what, unit]) =>
      SCALES.map((scale) => [nameAt(what, scale), scale === 1 ? unit : 'x']),
    ),
  ),
  sizes: {
    short: { events: eventsAtOne.short, starts: 2, requests: 20 },
    full: { events: eventsAtOne.full, starts: 5, requests: 100 },
  },
  async prepare(context, { events }) {
    for (const scale of SCALES) {
      const one = at(context, scale);
      await withServer(one, (server) => fill(server, one.directory, events * scale));
    }
  },
  async server(context, size) {
    const found = new Map<number, Record<What, number>>();
    for (const scale of rotated(SCALES, context.round))
      found.set(scale, await measure(at(context, scale), size, scale));
    const least = found.get(1);
    const measures: Measures = {};
    for (const [scale, one] of found)
      for (const [what, value] of Object.entries(one) as [What, number][])
        measures[nameAt(what, scale)] = scale === 1 ? value : value / (least?.[what] ?? Number.NaN);
    return measures;
  },
  bare: () => Promise.resolve({}),
});

function at(context: RoundContext, scale: number): RoundContext {
  return { ...context, directory: path.join(context.directory, `${scale}x`) };
}

async function measure(
  context: RoundContext,
  { events, starts, requests }: Size,
  scale: number,
): Promise<Record<What, number>> {
  const started: number[] = [];
  for (let n = 0; n < starts; n++)
    await withServer(context, async ({ startedIn }) => void started.push(startedIn));
  return withServer(context, async (server) => {
    await pause(REST_MS);
    const idle = treeMegabytes(server.pid);
    const middle = Math.floor((events * scale) / 2);
    const p50 = async (run: () => Promise<unknown>) => {
      await together(1, requests, run);
      return (await together(1, requests, run)).p50;
    };
    return {
      start: median(started),
      'idle memory': idle,
      'newest sessions': await p50(() => ask(server, 'GET', '/v1/sessions?limit=50')),
      'events in the middle': await p50(() =>
        download(server, `/v1/events?after_seq=${middle}&limit=100`),
      ),
      'create a session': await p50(() => createSession(server, context.directory)),
      'turn of ten words': await turnOf(server, context.directory, requests),
    };
  });
}

async function turnOf(server: Server, cwd: string, requests: number): Promise<number> {
  const session = await createSession(server, cwd);
  const stream = await Stream.open(server, `/v1/sessions/${session}/events/stream?after_seq=0`);
  const turn = async () => {
    const over = stream.next(endsTurn);
    await sendTurn(server, session, 'words 10');
    await over;
  };
  await together(1, requests, turn);
  const { p50 } = await together(1, requests, turn);
  stream.close();
  return p50;
}
