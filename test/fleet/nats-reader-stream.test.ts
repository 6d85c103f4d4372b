import { headers, type NatsConnection } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { namesOf } from '../../src/fleet/names.ts';
import { NatsReaderStream } from '../../src/fleet/nats-reader-stream.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** A connection to a stream whose newest message was stored at a time, and which has nothing after that. */
function quietSince(time: string): NatsConnection {
  const newest = { message: { seq: 7, time } };
  const connection = {
    request: () => Promise.resolve({ json: () => newest }),
    requestMany: () =>
      Promise.resolve(
        Object.assign(
          (async function* () {
            yield { headers: headers(404, 'No Messages') };
          })(),
          { stop: () => undefined },
        ),
      ),
    subscribe: () => ({ unsubscribe: () => undefined }),
    status: () => Object.assign((async function* () {})(), { stop: () => undefined }),
  };
  return connection as unknown as NatsConnection;
}

test('A reading of stored events that starts after the newest event ends without a wait.', async () => {
  const connection = quietSince('2026-01-01T00:00:00.123456789Z');
  // The clock stands still: a wait would never end.
  const stream = new NatsReaderStream(connection, namesOf('f'), new ManualClock());
  const { signal } = new AbortController();
  const from = { time: Date.parse('2026-01-01T00:00:01Z') };
  expect(await Array.fromAsync(stream.read(from, { follow: false, signal }))).toEqual([]);
});
