import { setImmediate as nextLoop } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Scope } from '../../../src/core/events/event.ts';
import { Feed } from '../../../src/core/events/feed.ts';
import type { LogEntry } from '../../../src/core/events/log.ts';
import { heldDisk, type TestStore, testStore } from '../../support/memory-store.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { untypedDraft } from '../../support/untyped-events.ts';
import { entriesIn, pageOf } from '../../support/entries.ts';
import { atLength } from '../../support/at-length.ts';

const runtime: Scope = { name: 'runtime' };
const ofSession = (id: string): Scope => ({ name: 'session', id });

/** Appends events of a session, in one transaction. */
function append(
  { db, log }: TestStore,
  count: number,
  session_id = 'sess_a',
  text = 'x',
): Promise<number[]> {
  return db.transact((tx) =>
    Array.from(
      { length: count },
      () =>
        log.append(tx, untypedDraft({ kind: 'session.updated', session_id, payload: { text } }))
          .seq,
    ),
  );
}

interface Reader {
  seqs: number[];
  pages: LogEntry[][];
  until: (seq: number) => Promise<void>;
  stop: () => void;
  done: Promise<void>;
}

/** Subscribes, and keeps all events. */
function follow(feed: Feed, scope: Scope, after = 0, ending?: AbortSignal): Reader {
  const abort = new AbortController();
  const seqs: number[] = [];
  const pages: LogEntry[][] = [];
  const done = (async () => {
    for await (const frames of feed.subscribe(scope, after, abort.signal, ending)) {
      const page = entriesIn(frames);
      pages.push(page);
      seqs.push(...page.map(({ seq }) => seq));
    }
  })();
  return {
    seqs,
    pages,
    until: (seq) => expectEventually(() => seqs.at(-1) ?? 0).toBeGreaterThanOrEqual(seq),
    stop: () => abort.abort(),
    done,
  };
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** Feeds that read the newest events from memory, only from SQL, and from both. */
const rings = [
  { name: 'a large ring', ringBytes: 4 * 1024 * 1024 },
  { name: 'no ring at all', ringBytes: 0 },
  { name: 'a ring of a few events', ringBytes: 2000 },
];

describe.for(rings)('a subscriber with $name', ({ ringBytes }) => {
  const feedAfter = async (count: number) => {
    const given = await testStore();
    const feed = new Feed({ ...given, ringBytes });
    await append(given, count);
    return { given, feed };
  };

  test('A subscriber gets stored events, then new ones, each once and in order.', async () => {
    const given = await testStore();
    await append(given, 1000);
    const feed = new Feed({ ...given, ringBytes });
    const reader = follow(feed, runtime);
    await append(given, 1);
    await reader.until(1001);
    for (let i = 0; i < 50; i++) {
      await append(given, 1 + (i % 3));
      if (i % 7 === 0) await nextLoop();
    }
    await reader.until(feed.latestSeq);
    expect(reader.seqs).toEqual(numbers(1, feed.latestSeq));
    reader.stop();
    await reader.done;
  });

  test('A subscriber starts after its cursor, at any position.', async () => {
    const { given, feed } = await feedAfter(100);
    const readers = [0, 1, 50, 99, 100].map((after) => ({
      after,
      reader: follow(feed, runtime, after),
    }));
    await append(given, 1);
    for (const { after, reader } of readers) {
      await reader.until(101);
      expect(reader.seqs).toEqual(numbers(after + 1, 101));
      reader.stop();
    }
  });

  test('A subscriber of a scope gets all events with its id, however many others are between.', async () => {
    const given = await testStore();
    const feed = new Feed({ ...given, ringBytes });
    const mine: number[] = [];
    mine.push(...(await append(given, 2, 'sess_mine')));
    const reader = follow(feed, ofSession('sess_mine'));
    for (let i = 0; i < 20; i++) {
      await append(given, 100, 'sess_other');
      if (i % 5 === 4) mine.push(...(await append(given, 1, 'sess_mine')));
    }
    await reader.until(mine.at(-1) ?? 0);
    expect(reader.seqs).toEqual(mine);
    reader.stop();
  });

  test('A subscriber with a cursor beyond the newest event waits, and gets new events.', async () => {
    const { given, feed } = await feedAfter(3);
    const readers = [
      follow(feed, runtime, 1_000_000),
      follow(feed, ofSession('sess_a'), Number.MAX_SAFE_INTEGER),
    ];
    await nextLoop();
    await append(given, 2);
    for (const reader of readers) {
      await reader.until(5);
      expect(reader.seqs).toEqual([4, 5]);
      reader.stop();
      await reader.done;
    }
  });

  test('A subscriber of a quiet session misses no event when the ring wraps around.', async () => {
    const given = await testStore();
    const feed = new Feed({ ...given, ringBytes });
    const [first = 0] = await append(given, 1, 'sess_quiet');
    const reader = follow(feed, ofSession('sess_quiet'));
    await reader.until(first);
    await append(given, 3000, 'sess_loud');
    const [last = 0] = await append(given, 1, 'sess_quiet');
    await reader.until(last);
    expect(reader.seqs).toEqual([first, last]);
    reader.stop();
  });

  test('A subscriber ends when it is aborted, and no longer waits for events.', async () => {
    const { given, feed } = await feedAfter(5);
    const readers = Array.from({ length: 10 }, (_, i) =>
      follow(feed, i % 2 ? runtime : ofSession('sess_a')),
    );
    await expectEventually(() => feed.stats()).toEqual({
      followers: 10,
      waiting: 10,
      max_lag: 0,
    });
    for (const reader of readers) reader.stop();
    await Promise.all(readers.map(({ done }) => done));
    expect(feed.stats()).toEqual({ followers: 0, waiting: 0, max_lag: 0 });
    await append(given, 1);
    expect(readers.every(({ seqs }) => seqs.length === 5)).toBe(true);
  });

  test('A subscriber that is asked to end gets everything up to the end first.', async () => {
    const { feed } = await feedAfter(1000);
    const ending = new AbortController();
    const readers = [
      follow(feed, runtime, 0, ending.signal),
      follow(feed, ofSession('sess_none'), 0, ending.signal),
    ];
    ending.abort();
    await Promise.all(readers.map(({ done }) => done));
    expect(readers[0]?.seqs).toEqual(numbers(1, 1000));
    expect(readers[1]?.seqs).toEqual([]);
    expect(feed.stats().followers).toBe(0);
  });

  test('A subscriber that is aborted before it starts gets nothing.', async () => {
    const { feed } = await feedAfter(5);
    for await (const _page of feed.subscribe(runtime, 0, AbortSignal.abort())) expect.unreachable();
    expect(feed.stats().followers).toBe(0);
  });

  test('A page of a subscriber has at most 256 events and 256 KiB, or one longer event.', async () => {
    const { given, feed } = await feedAfter(600);
    await append(given, 20, 'sess_a', 'y'.repeat(50_000));
    await append(given, 2, 'sess_a', 'z'.repeat(250_000));
    const ending = new AbortController();
    const reader = follow(feed, runtime, 0, ending.signal);
    ending.abort();
    await reader.done;
    expect(reader.seqs).toEqual(numbers(1, 622));
    for (const page of reader.pages) {
      const bytes = page.reduce((sum, { text }) => sum + text.length, 0);
      expect(page.length).toBeLessThanOrEqual(256);
      expect(page.length === 1 || bytes <= 256 * 1024).toBe(true);
    }
  });

  test('A subscriber gets exactly the stored text.', async () => {
    const given = await testStore();
    const feed = new Feed({ ...given, ringBytes });
    const reader = follow(feed, runtime);
    await append(given, 3, 'sess_a', 'ü €\u2028 💥 \ud800');
    await reader.until(3);
    reader.stop();
    const bounds = { after: 0, upTo: 3, limit: 10, maxBytes: 1e6 };
    expect(reader.pages.flat()).toEqual(pageOf(given.log, runtime, bounds).entries);
  });
});

test('A subscriber gets the same events from the ring as from SQL, for any scope and cursor.', async () => {
  const given = await testStore();
  const feeds = rings.map(({ ringBytes }) => new Feed({ ...given, ringBytes }));
  for (let i = 0; i < 40; i++)
    await append(given, 1 + ((i * 7) % 11), `sess_${i % 4}`, 'x'.repeat((i * 37) % 300));
  const ending = AbortSignal.abort();
  for (const scope of [runtime, ofSession('sess_0'), ofSession('sess_3'), ofSession('sess_none')]) {
    for (const after of [0, 10, 100, 199, 240]) {
      const readers = feeds.map((feed) => follow(feed, scope, after, ending));
      await Promise.all(readers.map(({ done }) => done));
      expect(readers[1]?.seqs).toEqual(readers[0]?.seqs);
      expect(readers[2]?.seqs).toEqual(readers[0]?.seqs);
    }
  }
});

test('A subscriber gets no event before it is on disk, and none of a failed transaction.', async () => {
  const disk = heldDisk();
  const given = await testStore({ fs: disk.fs, durability: 'full' });
  const feed = new Feed(given);
  const reader = follow(feed, runtime);
  await append(given, 1);
  await reader.until(1);
  disk.hold();
  const written = append(given, 2);
  const failed = given.db.transact((tx) => {
    given.log.append(
      tx,
      untypedDraft({ kind: 'session.updated', session_id: 'sess_a', payload: {} }),
    );
    throw new Error('changed my mind');
  });
  failed.catch(() => undefined);
  for (let i = 0; i < 10; i++) await nextLoop();
  expect(feed.latestSeq).toBe(1);
  expect(reader.seqs).toEqual([1]);
  const late = follow(feed, runtime);
  await expectEventually(() => late.seqs).toEqual([1]);
  disk.release();
  expect(await written).toEqual([2, 3]);
  await expect(failed).rejects.toThrow('changed my mind');
  await append(given, 1);
  for (const one of [reader, late]) {
    await one.until(4);
    expect(one.seqs).toEqual([1, 2, 3, 4]);
    one.stop();
  }
});

test('Many subscribers that lag share the event loop: each turn of it reads a few pages.', async () => {
  const given = await testStore();
  for (let i = 0; i < 4; i++) await append(given, 250);
  const feed = new Feed({ ...given, ringBytes: 0 });
  const ending = AbortSignal.abort();
  const count = atLength(50, 200, 200);
  const readers = Array.from({ length: count }, () => follow(feed, runtime, 0, ending));
  let turns = 0;
  let over = false;
  const done = Promise.all(readers.map((reader) => reader.done)).then(() => (over = true));
  while (!over) {
    turns++;
    await nextLoop();
  }
  await done;
  expect(readers.every(({ seqs }) => seqs.length === 1000)).toBe(true);
  // Each subscriber has 4 pages, and at most 8 pages are read in a turn.
  expect(turns).toBeGreaterThanOrEqual((count * 4) / 8);
});

test('The statistics have the lag of the slowest subscriber that is not waiting.', async () => {
  const given = await testStore();
  const feed = new Feed(given);
  await append(given, 300);
  const abort = new AbortController();
  const pages = feed.subscribe(runtime, 0, abort.signal);
  await pages.next();
  await append(given, 100);
  expect(feed.stats()).toEqual({ followers: 1, waiting: 0, max_lag: 144 });
  await pages.return();
  expect(feed.stats().followers).toBe(0);
});
