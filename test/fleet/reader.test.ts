import { expect, test } from 'vitest';
import { FleetCursor } from '../../src/fleet/cursor.ts';
import {
  type FleetEvent,
  type FleetItem,
  type FleetNotice,
  readFleet,
} from '../../src/fleet/reader.ts';
import type { From, ReaderStream } from '../../src/fleet/nats-reader-stream.ts';
import { unreachableError } from '../../src/api/errors.ts';
import { seeded } from '../campaigns/crash/random.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { noFaults, compareEvents } from '../support/fleet/compare-events.ts';
import {
  append,
  entriesBetween,
  hurriedClock,
  startMirror,
  wholeLog,
} from '../support/fleet/mirroring.ts';
import { ScriptedStream, testLog } from './scripted-stream.ts';
import { type TestStore, testStore } from '../support/memory-store.ts';

/** Reads a stream until it is disposed, or to its end; keeps what it gets. */
function startReader(
  stream: ScriptedStream,
  { db, log }: TestStore,
  { cursor = FleetCursor.start(), follow = true } = {},
) {
  const events: FleetEvent[] = [];
  const notices: FleetNotice[] = [];
  const asked: [after: number, upTo: number][] = [];
  const stopping = new AbortController();
  const parts = {
    stream: stream.reader(),
    clock: hurriedClock(),
    cursor,
    async fill(node: string, epoch: string, after: number, upTo: number): Promise<FleetItem[]> {
      asked.push([after, upTo]);
      if (epoch !== db.epoch) throw new Error('it has another log');
      return entriesBetween({ log }, after, upTo).map((entry) => ({
        event: { node, epoch, ...entry },
      }));
    },
  };
  const done = (async () => {
    for await (const item of readFleet(parts, { follow, signal: stopping.signal })) {
      if ('event' in item) events.push(item.event);
      else notices.push(item.notice);
    }
  })();
  return {
    events,
    notices,
    asked,
    cursor,
    done,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await done;
    },
  };
}

const newest = (events: FleetEvent[]) => events.at(-1)?.seq;

function expectWhole(store: TestStore, events: FleetEvent[]): void {
  expect(compareEvents(wholeLog(store, store.db.durableSeq), events)).toMatchObject(noFaults);
}

test('A reader continues from its cursor, which is one word, with no event twice.', async () => {
  const { store, stream } = await testLog();
  await using _mirror = startMirror(store, stream.of('n1'));
  const all: FleetEvent[] = [];
  let word = FleetCursor.start().toString();
  for (let i = 0; i < 4; i++) {
    await append(store, 5, i % 2 ? 'message.delta' : undefined);
    await expectEventually(() => stream.messages.length).toBe(5 * (i + 1));
    await using reader = startReader(stream, store, {
      cursor: FleetCursor.parse(word),
      follow: false,
    });
    await reader.done;
    expect(reader.events).toHaveLength(5);
    all.push(...reader.events);
    word = reader.cursor.toString();
    expect(word).toMatch(/^[\w-]+$/);
  }
  expectWhole(store, all);
});

test('A reader reads again where the stream went back, and takes each event once.', async () => {
  const store = await testStore();
  const random = seeded(11);
  const stream = new ScriptedStream();
  await using _mirror = startMirror(store, stream.of('n1'));
  await using reader = startReader(stream, store);
  for (let i = 0; i < 40; i++) {
    await append(store, random.between(1, 30), random.chance(0.5) ? 'message.delta' : undefined);
    if (random.chance(0.2)) stream.interrupt();
    if (random.chance(0.2)) {
      await expectEventually(() => stream.messages.at(-1)?.seq).toBe(store.db.durableSeq);
      stream.setBack(random.between(1, 100));
      // The mirror learns of it by its next batch.
      await append(store, 1);
    }
  }
  await expectEventually(() => newest(reader.events)).toBe(store.db.durableSeq);
  expectWhole(store, reader.events);
  expect(reader.notices.filter(({ kind }) => kind === 'rewind').length).toBeGreaterThan(0);
});

test('A reader has a hole filled by the node.', async () => {
  const { store, stream } = await testLog();
  await using _mirror = startMirror(store, stream.of('n1'));
  await append(store, 3);
  await expectEventually(() => stream.messages.length).toBe(3);
  const cursor = FleetCursor.start();
  await startReader(stream, store, { cursor, follow: false }).done;
  await append(store, 6);
  await expectEventually(() => stream.messages.length).toBe(9);
  stream.trim(6);
  await using reader = startReader(stream, store, { cursor, follow: false });
  await reader.done;
  expect(reader.asked).toEqual([[3, 6]]);
  expect(reader.events.map(({ seq }) => seq)).toEqual([4, 5, 6, 7, 8, 9]);
});

test('A reader says what is missing where the node cannot be asked.', async () => {
  const { store, stream } = await testLog();
  const write = (from: number, prev: number) =>
    stream.of('n1').publish({
      epoch: 'epoch_gone',
      expected: stream.last,
      prev,
      drafts: [{ kind: 'session.updated', seq: from, text: `{"id":"evt_${from}"}` }],
    });
  await write(3, 0);
  const cursor = FleetCursor.start();
  await startReader(stream, store, { cursor, follow: false }).done;
  await write(7, 5);
  await using reader = startReader(stream, store, { cursor, follow: false });
  await reader.done;
  expect(reader.events.map(({ seq }) => seq)).toEqual([7]);
  expect(reader.notices).toMatchObject([{ kind: 'gap', node: 'n1', after: 3, up_to: 5 }]);
});

test('A reader takes no event again of a log that a node had before.', async () => {
  const first = await testStore();
  const second = await testStore();
  const stream = new ScriptedStream();
  await append(first, 4);
  await append(second, 4);
  {
    await using _mirror = startMirror(first, stream.of('n1'));
    await expectEventually(() => stream.messages.length).toBe(4);
  }
  await using reader = startReader(stream, second);
  await using _mirror = startMirror(second, stream.of('n1'));
  await expectEventually(() => reader.events.length).toBe(8);
  stream.setBack(2);
  await append(second, 1);
  await expectEventually(() => newest(reader.events)).toBe(5);
  expect(reader.events).toHaveLength(9);
  expect(reader.notices.map(({ kind }) => kind)).toEqual(['epoch', 'rewind']);
});

test('A reader that began behind the newest message reads only the last minutes of a stream that has lost it.', async () => {
  const read: From[] = [];
  const last = [9, 3];
  const stream: ReaderStream = {
    info: async () => ({ id: 'a', first: 1, last: last.shift() ?? 0, bytes: 0, maxBytes: 0 }),
    idAt: async () => null,
    async *read(from) {
      read.push(from);
      if (last.length > 0) throw unreachableError('no answer');
      yield* [];
    },
  };
  const now = 3_600_000;
  const clock = { ...hurriedClock(), now: () => now };
  const parts = { stream, clock, cursor: FleetCursor.start(), fill: async () => [] };
  const { signal } = new AbortController();
  const items = readFleet(parts, { follow: false, signal, begin: 'latest' });
  expect(await Array.fromAsync(items)).toMatchObject([{ notice: { kind: 'rewind' } }]);
  expect(read).toEqual([{ after: 9 }, { time: now - 10 * 60_000 }]);
});

test('A word of another form is refused as a cursor.', () => {
  expect(() => FleetCursor.parse('bm9uZQ')).toThrow('the event cursor is not from a fleet');
});
