import fs from 'node:fs';
import path from 'node:path';
import { download, downloadUntil } from '../client/download.ts';
import { fill } from '../client/fill.ts';
import { forgetPeak, peakMegabytes } from '../client/process.ts';
import { median } from '../report/statistics.ts';
import { dataOf, type Server, withBareServer, withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

const PAGE = 1000;
const NEWEST = 'bench-newest';
/** Average size of an event, for the baseline. */
const EVENT_BYTES = 500;

interface Size {
  events: number;
  pages: number;
}

/** Reading the log again: what a client does that was away, or is new. */
export const replay = workload<Size>({
  about: `the rate at which a client reads stored events in pages of ${PAGE} events, and the whole event log as one stream (full: 1,000,000 events, short: 20,000). The baseline is a minimal HTTP server, which sends a file of the same size`,
  needs: 'process',
  units: {
    [`${PAGE} events`]: 'MB/s',
    'whole log': 'MB/s',
    'memory of the whole log': 'MB',
    'a rare kind': 'ms',
  },
  sizes: { short: { events: 20_000, pages: 30 }, full: { events: 1_000_000, pages: 200 } },
  async prepare(context, { events }) {
    await withServer(context, async (server) => {
      const newest = await fill(server, context.directory, events);
      fs.writeFileSync(path.join(context.directory, NEWEST), String(newest));
    });
  },
  server: (context, { events, pages }) =>
    withServer(context, (server) => {
      const newest = fs.readFileSync(path.join(context.directory, NEWEST), 'utf8');
      const page = (n: number) =>
        `/v1/events?limit=${PAGE}&after_seq=${Math.floor((n / pages) * (events - PAGE))}`;
      return measure(server, pages, {
        page: (n) => download(server, page(n)),
        whole: () => downloadUntil(server, '/v1/events/stream?after_seq=0', `id: ${newest}\n`),
        rare: () => download(server, '/v1/events?kind=session.created&limit=1000'),
      });
    }),
  async bare(directory, { events, pages }) {
    const file = path.join(dataOf(directory), 'events');
    fs.mkdirSync(dataOf(directory));
    fs.writeFileSync(file, '');
    fs.truncateSync(file, events * EVENT_BYTES);
    return withBareServer(directory, (server) =>
      measure(server, pages, {
        page: () => download(server, `/events?n=${PAGE * EVENT_BYTES}`),
        whole: () => download(server, `/events?n=${events * EVENT_BYTES}`),
        rare: () => download(server, `/events?n=${EVENT_BYTES}`),
      }),
    );
  },
});

interface Reads {
  page: (n: number) => Promise<number>;
  whole: () => Promise<number>;
  rare: () => Promise<number>;
}

async function measure(server: Server, pages: number, reads: Reads): Promise<Measures> {
  const speeds: number[] = [];
  for (let n = 0; n < pages; n++) speeds.push(await speedOf(() => reads.page(n)));
  forgetPeak(server.pid);
  const before = peakMegabytes(server.pid);
  const whole = await speedOf(reads.whole);
  const grown = peakMegabytes(server.pid) - before;
  const rare: number[] = [];
  for (let n = 0; n < 5; n++) {
    const asked = performance.now();
    await reads.rare();
    rare.push(performance.now() - asked);
  }
  return {
    [`${PAGE} events`]: median(speeds),
    'whole log': whole,
    'memory of the whole log': grown,
    'a rare kind': median(rare),
  };
}

/** Megabytes a second. */
async function speedOf(read: () => Promise<number>): Promise<number> {
  const started = performance.now();
  const bytes = await read();
  return bytes / 1e6 / ((performance.now() - started) / 1000);
}
