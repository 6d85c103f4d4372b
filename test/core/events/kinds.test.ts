import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { deltaKinds, eventKinds, kindsMatching } from '../../../src/api/events.ts';
import type { Scope } from '../../../src/core/events/event.ts';
import { Feed } from '../../../src/core/events/feed.ts';
import type { EventLog, LogEntry } from '../../../src/core/events/log.ts';
import { type TestStore, withStore, testStore } from '../../support/memory-store.ts';
import { untypedDraft } from '../../support/untyped-events.ts';
import { entriesIn, pageOf } from '../../support/entries.ts';
import { atLength } from '../../support/at-length.ts';

/** The size of the window of sequence numbers that one page of some kinds of a session reads. */
const WINDOW = 20_000;

const groups = [...new Set(eventKinds.map((kind) => `${kind.split('.')[0]}.*`))];
const pattern = fc.constantFrom(...eventKinds, ...groups);
const patterns = fc.uniqueArray(pattern, { minLength: 1, maxLength: 6 });
const entry = fc.record({
  kind: fc.constantFrom(...eventKinds),
  session_id: fc.constantFrom('a', 'b', null),
  /** Sequence numbers that are skipped before the event. */
  hole: fc.constantFrom(0, 0, 0, 0, 1, 300, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW),
  text: fc.constantFrom('', 'x'.repeat(3000)),
});
type Entry = typeof entry extends fc.Arbitrary<infer T> ? T : never;
const scope = fc.constantFrom<Scope>(
  { name: 'runtime' },
  { name: 'session', id: 'a' },
  { name: 'session', id: 'b' },
);

async function append({ db, log }: TestStore, entries: readonly Entry[]): Promise<void> {
  await db.transact((tx) => {
    for (const { kind, session_id, hole, text } of entries) {
      if (hole > 0) tx.skipSeqs(hole);
      log.append(tx, untypedDraft({ kind, session_id, payload: { item_id: 'item', text } }));
    }
  });
}

/** Reads all events of a scope after a seq, page by page. */
function replay(
  log: EventLog,
  of: Scope,
  after: number,
  bounds: { upTo: number; limit: number; maxBytes: number },
): LogEntry[] {
  const entries: LogEntry[] = [];
  for (let cursor = after; cursor < bounds.upTo;) {
    const page = pageOf(log, of, { ...bounds, after: cursor });
    expect(page.end).toBeGreaterThan(cursor);
    cursor = page.end;
    entries.push(...page.entries);
  }
  return entries;
}

async function followed(feed: Feed, of: Scope, after: number): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  const { signal } = new AbortController();
  for await (const page of feed.subscribe(of, after, signal, AbortSignal.abort()))
    entries.push(...entriesIn(page));
  return entries;
}

const seqsOf = (entries: readonly LogEntry[]) => entries.map(({ seq }) => seq);
const whole = { limit: 1_000_000, maxBytes: 1e9 };

test('A filtered replay equals the filtered whole, for any log, kinds, scope and bounds.', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry, { minLength: 1, maxLength: 40 }),
      patterns,
      scope,
      fc.record({
        from: fc.double({ min: 0, max: 1.1, noNaN: true }),
        limit: fc.integer({ min: 1, max: 10 }),
        maxBytes: fc.constantFrom(1, 5000, 1e6),
      }),
      (entries, wanted, of, { from, limit, maxBytes }) =>
        withStore(async (given) => {
          await append(given, entries);
          const upTo = given.db.durableSeq;
          const after = Math.floor(from * upTo);
          const kinds = kindsMatching(wanted);
          const filter: ReadonlySet<string> = kinds;
          const all = replay(given.log, of, after, { upTo, ...whole });
          const found = replay(given.log, { ...of, kinds }, after, { upTo, limit, maxBytes });
          expect(found).toEqual(all.filter(({ kind }) => filter.has(kind)));
        }),
    ),
    { numRuns: atLength(20, 60, 60) },
  );
});

test.for([
  { name: 'a large ring', ringBytes: 4 * 1024 * 1024 },
  { name: 'no ring at all', ringBytes: 0 },
  { name: 'a ring of a few events', ringBytes: 5000 },
])('A subscriber with a filter and $name gets the filtered whole.', async ({ ringBytes }) => {
  const entries = fc.array(entry, { minLength: 1, maxLength: 30 });
  const from = fc.double({ min: 0, max: 1, noNaN: true });
  await fc.assert(
    fc.asyncProperty(entries, patterns, scope, from, (entries, wanted, of, from) =>
      withStore(async (given) => {
        const feed = new Feed({ ...given, ringBytes });
        const half = Math.floor(entries.length / 2);
        await append(given, entries.slice(0, half));
        await append(given, entries.slice(half));
        const after = Math.floor(from * feed.latestSeq);
        const kinds = kindsMatching(wanted);
        const filter: ReadonlySet<string> = kinds;
        const all = await followed(feed, of, after);
        const found = await followed(feed, { ...of, kinds }, after);
        expect(seqsOf(found)).toEqual(seqsOf(all.filter(({ kind }) => filter.has(kind))));
      }),
    ),
    { numRuns: atLength(15, 40, 40) },
  );
});

test('A filter matches a kind, a group of kinds, or any of several.', () => {
  expect([...kindsMatching(['turn.failed'])]).toEqual(['turn.failed']);
  expect([...kindsMatching(['approval.*'])]).toEqual(['approval.requested', 'approval.resolved']);
  expect([...kindsMatching(['plan.updated', 'plan.*', 'usage.updated'])]).toEqual([
    'plan.updated',
    'usage.updated',
  ]);
  for (const group of groups)
    for (const kind of kindsMatching([group]))
      expect(kind.startsWith(group.slice(0, -1))).toBe(true);
});

test('A filter matches deltas, too.', async () => {
  const given = await testStore();
  await append(
    given,
    eventKinds.map((kind) => ({ kind, session_id: null, hole: 0, text: '' })),
  );
  const kinds = new Set(deltaKinds);
  const of: Scope = { name: 'runtime', kinds };
  const found = replay(given.log, of, 0, { upTo: given.db.durableSeq, ...whole });
  expect(found.map(({ kind }) => kind)).toEqual([...deltaKinds]);
});

const rare: Scope = { name: 'session', id: 'a', kinds: new Set(['turn.failed']) };
const plan: Entry = { kind: 'plan.updated', session_id: 'a', hole: 0, text: '' };
const failed: Entry = { ...plan, kind: 'turn.failed' };

test('A page ends after a window of numbers without a match, and the next page continues there.', async () => {
  const given = await testStore();
  await append(given, [plan, { ...failed, hole: WINDOW - 1 }, { ...failed, hole: WINDOW }]);
  const upTo = given.db.durableSeq;
  const page = (after: number) => pageOf(given.log, rare, { after, upTo, ...whole });
  expect(page(0)).toEqual({ entries: [], end: WINDOW, isFull: false });
  expect(page(WINDOW)).toMatchObject({ entries: [{ seq: WINDOW + 1 }], end: 2 * WINDOW });
  expect(page(2 * WINDOW)).toMatchObject({ entries: [{ seq: upTo }], end: upTo });
});

test('A full page ends with its last entry.', async () => {
  const given = await testStore();
  await append(given, [failed, plan, failed, plan, failed]);
  const page = pageOf(given.log, rare, { after: 0, upTo: 5, limit: 2, maxBytes: 1e9 });
  expect(page).toMatchObject({ entries: [{ seq: 1 }, { seq: 3 }], end: 3, isFull: true });
});

test('A waiting subscriber with a filter gets a matching event after many others.', async () => {
  const given = await testStore();
  const feed = new Feed({ ...given, ringBytes: 0 });
  const leaving = new AbortController();
  const pages = feed.subscribe(rare, 0, leaving.signal);
  const next = pages.next();
  for (let i = 0; i < 20; i++) await append(given, [plan]);
  await append(given, [{ ...plan, hole: 3 * WINDOW }]);
  await append(given, [failed]);
  const seq = given.db.durableSeq;
  const { value: page } = await next;
  expect(page).toMatchObject({ last: seq, trimmed: null });
  expect(page && seqsOf(entriesIn(page))).toEqual([seq]);
  await pages.return();
});
