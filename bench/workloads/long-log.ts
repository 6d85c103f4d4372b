import { download } from '../client/download.ts';
import { fill } from '../client/fill.ts';
import { ask } from '../client/http.ts';
import { median } from '../report/statistics.ts';
import { withBareServer, withServer } from '../subject.ts';
import { workload } from '../workload.ts';

/** Time until a server with a long event log serves its first client. */
export const longLog = workload({
  about:
    'the start time of a server with a long event log (full: 1,000,000 events, short: 20,000), and the time to read the first pages. The baseline is a minimal HTTP server without an event log',
  needs: 'process',
  units: { start: 'ms', 'first page of sessions': 'ms', 'first page of events': 'ms' },
  sizes: { short: { events: 20_000, starts: 3 }, full: { events: 1_000_000, starts: 5 } },
  async prepare(context, { events }) {
    await withServer(context, (server) => fill(server, context.directory, events));
  },
  async server(context, { events, starts }) {
    const times = { start: [] as number[], sessions: [] as number[], events: [] as number[] };
    for (let n = 0; n < starts; n++)
      await withServer(context, async (server) => {
        times.start.push(server.startedIn);
        times.sessions.push(await timed(() => ask(server, 'GET', '/v1/sessions?limit=50')));
        const page = `/v1/events?after_seq=${Math.floor(events / 2)}&limit=100`;
        times.events.push(await timed(() => download(server, page)));
      });
    return {
      start: median(times.start),
      'first page of sessions': median(times.sessions),
      'first page of events': median(times.events),
    };
  },
  async bare(directory, { starts }) {
    const times = { start: [] as number[], page: [] as number[] };
    for (let n = 0; n < starts; n++)
      await withBareServer(directory, async (server) => {
        times.start.push(server.startedIn);
        times.page.push(await timed(() => download(server, '/bytes?n=50000')));
      });
    const page = median(times.page);
    return {
      start: median(times.start),
      'first page of sessions': page,
      'first page of events': page,
    };
  },
});

async function timed(run: () => Promise<unknown>): Promise<number> {
  const asked = performance.now();
  await run();
  return performance.now() - asked;
}
