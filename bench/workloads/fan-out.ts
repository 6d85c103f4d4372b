import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Follower } from '../../test/campaigns/fanout-follower.ts';
import {
  forkFanOut,
  sharedNow,
  startBareFanOut,
  type FanOutServer,
} from '../baselines/bare-fan-out.ts';
import { pair, quantile, type Workload } from '../workload.ts';

const EVENTS = 200;
const CROWDS = [1, 50, 500];

/** The time from the commit of an event to its receipt by each of many followers. */
export const fanOut: Workload = {
  about: `${EVENTS} events, one after the other, from each commit to its receipt by every follower; bare: the same bytes written to every response`,
  async run(rounds, progress) {
    const cadre: Record<string, number>[] = [];
    const bare: Record<string, number>[] = [];
    for (let round = 1; round <= rounds; round++) {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-bench-'));
      const server = await forkFanOut(
        path.join(import.meta.dirname, 'fan-out-server.ts'),
        directory,
      );
      const body = JSON.stringify({ provider: 'acp', cwd: directory, title: 'x'.repeat(100) });
      const event = () => post(`${server.url}/v1/sessions`, server.token, body);
      const { figures, frameBytes } = await measure(server, event);
      cadre.push(figures);
      await server.end();
      fs.rmSync(directory, { recursive: true });
      const plain = await startBareFanOut();
      const frame = (seq: number) =>
        `id: ${seq}\nevent: session.created\ndata: ${'x'.repeat(frameBytes)}`.slice(
          0,
          frameBytes - 2,
        ) + '\n\n';
      let seq = 0;
      bare.push((await measure(plain, () => post(plain.url, plain.token, frame(++seq)))).figures);
      await plain.end();
      progress(`round ${round} of ${rounds}`);
    }
    const what = CROWDS.flatMap((crowd) => [`to ${crowd}, p50`, `to ${crowd}, p99`]);
    return pair(cadre, bare, Object.fromEntries(what.map((name) => [name, 'us'])));
  },
};

async function measure(
  server: FanOutServer,
  event: () => Promise<void>,
): Promise<{ figures: Record<string, number>; frameBytes: number }> {
  const figures: Record<string, number> = {};
  let frameBytes = 0;
  for (const size of CROWDS) {
    const crowd = new Crowd();
    await crowd.join(server, size);
    await server.moments();
    const events: { sent: number; received: number[] }[] = [];
    for (let i = 0; i < EVENTS; i++) {
      const next = crowd.nextReceived();
      const sent = sharedNow();
      await event();
      events.push({ sent, received: await next });
    }
    const moments = await server.moments();
    frameBytes = crowd.frameBytes();
    crowd.leave();
    // Housekeeping occasionally commits, too: the first commit after the request is taken as that of the event.
    const micros = events.flatMap(({ sent, received }) => {
      const committed = moments.find((moment) => moment >= sent) ?? Number.NaN;
      return received.map((time) => (time - committed) * 1000);
    });
    figures[`to ${size}, p50`] = quantile(micros, 0.5);
    figures[`to ${size}, p99`] = quantile(micros, 0.99);
  }
  return { figures, frameBytes };
}

/** A number of followers that receive the same events. */
class Crowd {
  readonly #followers: Follower[] = [];
  readonly #times = new Map<Follower, number>();
  #received: (times: number[]) => void = () => undefined;
  #events = 0;

  async join(server: FanOutServer, size: number): Promise<void> {
    const onTaken = (one: Follower) => this.#recordReceipt(one);
    const path = '/v1/events/stream?after_seq=latest';
    for (let i = 0; i < size; i++)
      this.#followers.push(await Follower.open(server, { path, onTaken }));
  }

  /** Resolves with the moments at which each follower received the next event. */
  nextReceived(): Promise<number[]> {
    this.#events++;
    this.#times.clear();
    return new Promise((resolve) => {
      this.#received = resolve;
    });
  }

  frameBytes(): number {
    const [one] = this.#followers;
    return one ? Math.round(one.bytes / one.events) : 0;
  }

  leave(): void {
    for (const one of this.#followers) one.close();
  }

  #recordReceipt(one: Follower): void {
    // The data may have been a ping.
    if (one.events !== this.#events || this.#times.has(one)) return;
    this.#times.set(one, sharedNow());
    if (this.#times.size === this.#followers.length) this.#received([...this.#times.values()]);
  }
}

async function post(url: string, token: string, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
}
