import { once } from 'node:events';
import http from 'node:http';
import { type Address, send } from '../client/http.ts';
import { quantile } from '../report/statistics.ts';
import { withBareServer, withServer } from '../subject.ts';
import { type Measures, workload } from '../workload.ts';

const CROWDS = [1, 50, 1000];
const FRAME = `id: 1\nevent: session.created\ndata: ${'x'.repeat(900)}\n\n`;
const DATA = Buffer.from('\ndata: ');

/** Events on their way to many followers. */
export const fanOut = workload({
  about: `the time from a request that causes one event until all clients of the event stream (${CROWDS.join(', ')}) have received the event. The baseline writes the same bytes to a file and to each response`,
  needs: 'server',
  units: Object.fromEntries(
    CROWDS.flatMap((size) => [
      [`to ${size}, p50`, 'ms'],
      [`to ${size}, p99`, 'ms'],
    ]),
  ),
  sizes: { short: { events: 30 }, full: { events: 200 } },
  server: (context, { events }) =>
    withServer(context, (server) => {
      const body = JSON.stringify({ provider: 'acp', cwd: context.directory });
      const publish = () => send(server, 'POST', '/v1/sessions', body);
      return measure(server, '/v1/events/stream', events, publish);
    }),
  bare: (directory, { events }) =>
    withBareServer(directory, (server) =>
      measure(server, '/stream', events, () => send(server, 'POST', '/publish', FRAME)),
    ),
});

async function measure(
  server: Address,
  path: string,
  events: number,
  publish: () => Promise<unknown>,
): Promise<Measures> {
  const measures: Measures = {};
  for (const size of CROWDS) {
    const crowd = new Crowd();
    await crowd.join(server, path, size);
    for (let n = 0; n < Math.ceil(events / 4); n++) await crowd.timesOf(publish);
    const times: number[] = [];
    for (let n = 0; n < events; n++) times.push(...(await crowd.timesOf(publish)));
    crowd.leave();
    measures[`to ${size}, p50`] = quantile(times, 0.5);
    measures[`to ${size}, p99`] = quantile(times, 0.99);
  }
  return measures;
}

/** Followers of the same stream, cheap enough to be a thousand: they count events and parse none. */
class Crowd {
  readonly #responses: http.IncomingMessage[] = [];
  #times: number[] = [];
  #all: () => void = () => undefined;

  async join({ url, token }: Address, path: string, size: number): Promise<void> {
    const headers = { authorization: `Bearer ${token}` };
    for (let n = 0; n < size; n++) {
      const request = http.get(`${url}${path}?after_seq=latest`, { agent: false, headers });
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      if (response.statusCode !== 200)
        throw new Error(`the stream was refused with ${response.statusCode}`);
      response.on('data', (chunk: Buffer) => this.#take(chunk));
      response.once('error', () => undefined);
      this.#responses.push(response);
    }
  }

  /** Publishes an event; resolves with the milliseconds until each follower had it. */
  async timesOf(publish: () => Promise<unknown>): Promise<number[]> {
    this.#times = [];
    const received = new Promise<void>((resolve) => {
      this.#all = resolve;
    });
    const sent = performance.now();
    await publish();
    await received;
    return this.#times.map((time) => time - sent);
  }

  leave(): void {
    for (const response of this.#responses) response.destroy();
  }

  #take(chunk: Buffer): void {
    const moment = performance.now();
    for (let at = chunk.indexOf(DATA); at >= 0; at = chunk.indexOf(DATA, at + 1))
      this.#times.push(moment);
    if (this.#times.length >= this.#responses.length) this.#all();
  }
}
