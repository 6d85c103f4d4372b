import { setImmediate as nextLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../src/api/events.ts';
import { endpoints } from '../../src/api/index.ts';
import { HttpClient } from '../../src/client/client.ts';
import { streamEvents, type StreamOptions } from '../../src/client/stream.ts';
import { type Clock, systemClock } from '../../src/core/lib/clock.ts';
import { keptPort } from '../support/kept-port.ts';
import { type TestRuntime, withRuntime, testRuntime } from '../support/runtime.ts';
import { scriptedProvider } from '../support/scripted-provider.ts';
import { testDirectory } from '../support/temp.ts';
import { openSession } from '../support/turns.ts';
import { wireTo } from '../support/wire.ts';
import { expectEventually } from '../support/expect-eventually.ts';

/** As the system's, but nobody waits long. */
const hasty: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 2), signal),
};

interface Reading {
  events: RuntimeEventRecord[];
  seqs: () => number[];
  states: string[];
  until: (seq: number) => Promise<void>;
  stop: () => void;
  done: Promise<void>;
}

function read(url: string, token: string, more: Partial<StreamOptions> = {}): Reading {
  const client = new HttpClient({ url, token });
  const abort = new AbortController();
  const events: RuntimeEventRecord[] = [];
  const states: string[] = [];
  const done = (async () => {
    for await (const event of streamEvents({
      client,
      clock: hasty,
      signal: abort.signal,
      onConnection: (state) => void states.push(state.lost ? 'lost' : `after ${state.after}`),
      ...more,
    })) {
      events.push(event);
    }
  })().finally(() => client.close());
  done.catch(() => undefined);
  return {
    events,
    seqs: () => events.map(({ seq }) => seq),
    states,
    until: (seq) => expectEventually(() => events.at(-1)?.seq ?? 0).toBeGreaterThanOrEqual(seq),
    stop: () => abort.abort(),
    done,
  };
}

const scripted = () => ({ providers: [scriptedProvider()] });
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

async function openMany({ client, directory }: TestRuntime, count: number): Promise<void> {
  for (let i = 0; i < count; i++)
    await openSession(client, directory, { metadata: 'x'.repeat((i * 97) % 1500) });
}

test('A stream of the client gives what is stored and what comes, as one reading.', async () => {
  const given = await testRuntime(scripted());
  await openMany(given, 20);
  const reading = read(given.url, given.token);
  await reading.until(22);
  await openMany(given, 20);
  await reading.until(42);
  reading.stop();
  await reading.done;
  expect(reading.seqs()).toEqual(numbers(1, 42));
  expect(reading.states).toEqual([]);
});

test('A stream of the client whose connection is cut again and again, in the middle of a frame too, loses and repeats nothing.', async () => {
  const given = await testRuntime(scripted());
  await using wire = await wireTo(given.url);
  const reading = read(wire.url, given.token);
  for (let i = 0; i < 12; i++) {
    // Enough for the headers and a bit more, and never the same.
    wire.cutAfter(1500 + i * 977);
    await openMany(given, 6);
    wire.cut();
  }
  wire.cutAfter(null);
  wire.cut();
  const last = 2 + 12 * 6;
  await reading.until(last);
  reading.stop();
  await reading.done;
  expect(reading.seqs()).toEqual(numbers(1, last));
  expect(wire.connections()).toBeGreaterThan(12);
});

test('A stream of the client reports a lost connection once, and its return once, with the last event.', async () => {
  const given = await testRuntime(scripted());
  await using wire = await wireTo(given.url);
  const reading = read(wire.url, given.token);
  await reading.until(2);
  wire.refuse(true);
  wire.cut();
  await expectEventually(() => reading.states).toEqual(['lost']);
  await openMany(given, 3);
  for (let i = 0; i < 20; i++) await nextLoop();
  wire.refuse(false);
  await reading.until(5);
  expect(reading.states).toEqual(['lost', 'after 2']);
  reading.stop();
  await reading.done;
  expect(reading.seqs()).toEqual(numbers(1, 5));
});

test('A stream of a session has its events, over cuts as well.', async () => {
  const given = await testRuntime(scripted());
  await using wire = await wireTo(given.url);
  const { id } = await openSession(given.client, given.directory);
  const reading = read(wire.url, given.token, { sessionId: id });
  await reading.until(3);
  wire.cut();
  await openMany(given, 2);
  await expectEventually(() => reading.states.length).toBe(2);
  reading.stop();
  await reading.done;
  expect(reading.seqs()).toEqual([3]);
});

test('A stream of the client from "latest" that is cut before its first event misses nothing that came meanwhile.', async () => {
  const given = await testRuntime(scripted());
  await using wire = await wireTo(given.url);
  const reading = read(wire.url, given.token, { after: 'latest' });
  const followers = async () =>
    (await given.client.call(endpoints.getDiagnostics, {})).streams.waiting;
  await expectEventually(followers).toBe(1);
  wire.refuse(true);
  wire.cut();
  await expectEventually(() => reading.states).toEqual(['lost']);
  await openMany(given, 3);
  wire.refuse(false);
  await expectEventually(() => reading.states.length).toBe(2);
  await openMany(given, 1);
  await reading.until(6);
  reading.stop();
  await reading.done;
  expect(reading.seqs()).toEqual([3, 4, 5, 6]);
});

test('A stream of the client continues when the server comes back after a stop, on the same port.', async () => {
  const directory = testDirectory();
  const config = { server: { bind_address: `127.0.0.1:${await keptPort()}`, drain_ms: 100 } };
  const { given: first, url, token } = await testRuntime({ ...scripted(), config, directory });
  const reading = read(url, token);
  await openMany(first, 3);
  await reading.until(5);
  await first.stop();
  await withRuntime(
    async (second) => {
      await openMany(second, 2);
      const { storage } = await second.client.call(endpoints.getDiagnostics, {});
      await reading.until(storage.latest_seq);
      expect(reading.seqs()).toEqual(numbers(1, storage.latest_seq));
    },
    { ...scripted(), directory, config },
  );
  reading.stop();
  await reading.done;
});

test('A stream of the client without a listener for connections ends with its error when the connection is lost.', async () => {
  const given = await testRuntime(scripted());
  await using wire = await wireTo(given.url);
  const client = new HttpClient({ url: wire.url, token: given.token });
  const events = streamEvents({ client, clock: hasty });
  await events.next();
  wire.cut();
  const rest = async () => {
    for await (const _event of events);
  };
  await expect(rest()).rejects.toMatchObject({ code: 'unreachable' });
  client.close();
});

test('A stream of the client is not tried again where it was refused: a wrong token, a session that is not there.', async () => {
  const given = await testRuntime(scripted());
  const wrong = read(given.url, 'wrong-token-wrong-token');
  await expect(wrong.done).rejects.toMatchObject({ code: 'unauthorized' });
  const missing = read(given.url, given.token, { sessionId: 'sess_nope' });
  await expect(missing.done).rejects.toMatchObject({ code: 'not_found' });
  expect([...wrong.states, ...missing.states]).toEqual([]);
});

test('A stream of the client ends at once when its signal aborts, also while it waits to try again.', async () => {
  const given = await testRuntime(scripted());
  await using wire = await wireTo(given.url);
  const reading = read(wire.url, given.token, {
    clock: { ...systemClock, sleep: (_ms, signal) => systemClock.sleep(60_000, signal) },
  });
  await reading.until(2);
  wire.refuse(true);
  wire.cut();
  await expectEventually(() => reading.states).toEqual(['lost']);
  reading.stop();
  await reading.done;
  const early = read(given.url, given.token, { signal: AbortSignal.abort() });
  await early.done;
  expect(early.events).toEqual([]);
});
