import { FleetCursor } from '../../src/fleet/cursor.ts';
import { namesOf } from '../../src/fleet/names.ts';
import { NatsReaderStream } from '../../src/fleet/nats-reader-stream.ts';
import { readFleet } from '../../src/fleet/reader.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import type { TestFleet } from '../../test/support/fleet/cluster.ts';

/** Reads a fleet as `events tail --fleet` does, and notes how old each event is when it comes, in ms. */
export class Lags implements AsyncDisposable {
  #lags: number[] = [];
  /** The newest event of each node. */
  readonly newest = new Map<string, number>();
  readonly #stopping = new AbortController();
  readonly #done: Promise<void>;

  constructor({ connection }: TestFleet) {
    this.#done = (async () => {
      const items = readFleet(
        {
          stream: new NatsReaderStream(connection, namesOf('test'), systemClock),
          clock: systemClock,
          cursor: FleetCursor.start(),
          fill: () => Promise.resolve([]),
        },
        { follow: true, begin: 'latest', signal: this.#stopping.signal },
      );
      for await (const item of items) {
        if (!('event' in item)) continue;
        const { node, seq, text } = item.event;
        const created = Number(/"created_at":(\d+)/.exec(text)?.[1]);
        this.#lags.push(Date.now() - created);
        this.newest.set(node, seq);
      }
    })();
  }

  /** Returns the delays since the last call. */
  take(): number[] {
    const lags = this.#lags;
    this.#lags = [];
    return lags;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#done;
  }
}
