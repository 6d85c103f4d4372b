import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Scope } from '../../../../src/core/events/event.ts';
import { Feed, type FeedPage } from '../../../../src/core/events/feed.ts';
import { EventTrim } from '../../../../src/server/maintenance/retention/trim.ts';
import { type TestStore, withStore, testStore } from '../../../support/memory-store.ts';
import { untypedDraft } from '../../../support/untyped-events.ts';
import { entriesIn, pageOf } from '../../../support/entries.ts';
import { atLength } from '../../../support/at-length.ts';

const runtime: Scope = { name: 'runtime' };
const ofSession = (id: string): Scope => ({ name: 'session', id });

function append({ db, log }: TestStore, session_id: string, count = 1): Promise<number[]> {
  return db.transact((tx) =>
    Array.from(
      { length: count },
      () =>
        log.append(
          tx,
          untypedDraft({ kind: 'session.updated', session_id, payload: { text: 'x' } }),
        ).seq,
    ),
  );
}

function trim({ db }: TestStore, session: string, limit = 1_000_000) {
  const trimming = new EventTrim({ db, onTrimmed: () => undefined });
  return db.transact((tx) => trimming.eventsOf(tx, 'session_id', session, limit));
}

/** Returns a subscription that ends once it has delivered all existing events. */
function reader(feed: Feed, scope: Scope, after = 0): AsyncGenerator<FeedPage, void> {
  return feed.subscribe(scope, after, new AbortController().signal, AbortSignal.abort());
}

interface Read {
  seqs: number[];
  /** The reported gaps, each with the last event before it. */
  gaps: { after: number; trimmed: number }[];
}

/** Takes one page; false where there is none. */
async function takePage(pages: AsyncGenerator<FeedPage, void>, read: Read): Promise<boolean> {
  const { value: page } = await pages.next();
  if (!page) return false;
  if (page.trimmed !== null)
    read.gaps.push({ after: read.seqs.at(-1) ?? 0, trimmed: page.trimmed });
  read.seqs.push(...entriesIn(page).map(({ seq }) => seq));
  return true;
}

async function readAll(pages: AsyncGenerator<FeedPage, void>): Promise<Read> {
  const read: Read = { seqs: [], gaps: [] };
  while (await takePage(pages, read));
  return read;
}

test('A follower that is overtaken while it reads gets the report in between, and again when it is overtaken again.', async () => {
  const given = await testStore();
  const first = await append(given, 'a', 600);
  const second = await append(given, 'b', 600);
  const feed = new Feed({ ...given, ringBytes: 0 });
  const pages = reader(feed, runtime);
  const read: Read = { seqs: [], gaps: [] };
  await takePage(pages, read);
  await trim(given, 'a', 550);
  await takePage(pages, read);
  await trim(given, 'b', 400);
  while (await takePage(pages, read));
  expect(read.gaps).toEqual([
    { after: first[255], trimmed: first[549] },
    { after: second[205], trimmed: second[399] },
  ]);
  expect(read.seqs).toEqual([
    ...first.slice(0, 256),
    ...first.slice(550),
    ...second.slice(0, 206),
    ...second.slice(400),
  ]);
});

test('A subscriber gets no removed event, even if the ring still has it.', async () => {
  const given = await testStore();
  const feed = new Feed(given);
  const gone = await append(given, 'gone', 3);
  const left = await append(given, 'left', 3);
  const trimming = new EventTrim({ db: given.db, onTrimmed: (seq) => feed.forgetUpTo(seq) });
  await given.db.transact((tx) => trimming.eventsOf(tx, 'session_id', 'gone', 10));
  expect(await readAll(reader(feed, runtime))).toEqual({
    seqs: left,
    gaps: [{ after: 0, trimmed: gone.at(-1) }],
  });
});

describe.for([
  { name: 'a large ring', ringBytes: 4 * 1024 * 1024 },
  { name: 'no ring at all', ringBytes: 0 },
  { name: 'a ring of some events', ringBytes: 40_000 },
])('a follower with $name', ({ ringBytes }) => {
  const session = fc.constantFrom('a', 'b');
  const act = fc.oneof(
    fc.record({ does: fc.constant('append'), session, count: fc.integer({ min: 1, max: 300 }) }),
    fc.record({ does: fc.constant('trim'), session, count: fc.integer({ min: 1, max: 400 }) }),
    fc.record({ does: fc.constant('read'), session, count: fc.integer({ min: 1, max: 2 }) }),
  );

  test('A follower gets a report of all events that it misses, whatever is appended, trimmed and read between.', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 15 }), (acts) =>
        withStore(async (given) => {
          const feed = new Feed({ ...given, ringBytes });
          const appended = { a: await append(given, 'a', 300), b: await append(given, 'b', 300) };
          const followers = [runtime, ofSession('a'), ofSession('b')].map((scope) => ({
            own: () => ofScope(scope, appended),
            /** The events that the subscriber should have received, or received as a gap. Set at its end. */
            due: undefined as number[] | undefined,
            pages: reader(feed, scope),
            read: { seqs: [], gaps: [] } as Read,
          }));
          const readOn = async (pageCount: number) => {
            for (const one of followers)
              for (let i = 0; i < pageCount && !one.due; i++)
                if (!(await takePage(one.pages, one.read))) one.due = one.own();
          };
          for (const { does, session: name, count } of acts) {
            if (does === 'append') appended[name].push(...(await append(given, name, count)));
            else if (does === 'trim') await trim(given, name, count);
            else await readOn(count);
          }
          await readOn(Number.POSITIVE_INFINITY);
          const left = new Set(seqsLeft(given));
          for (const { own, due = [], read } of followers) {
            expect(read.seqs).toEqual([...new Set(read.seqs)].toSorted((a, b) => a - b));
            const got = new Set(read.seqs);
            const isInGap = (seq: number) =>
              read.gaps.some(({ after, trimmed }) => after < seq && seq <= trimmed);
            expect(due.filter((seq) => !got.has(seq) && !isInGap(seq))).toEqual([]);
            for (const { trimmed } of read.gaps) {
              expect(own()).toContain(trimmed);
              expect(left.has(trimmed)).toBe(false);
            }
          }
        }),
      ),
      { numRuns: atLength(5, 15, 15) },
    );
  });
});

function ofScope(scope: Scope, appended: Record<'a' | 'b', number[]>): number[] {
  if (scope.name === 'session') return [...appended[scope.id as 'a' | 'b']];
  return [...appended.a, ...appended.b].toSorted((a, b) => a - b);
}

function seqsLeft({ db, log }: TestStore): number[] {
  const bounds = { after: 0, upTo: db.durableSeq, limit: 1_000_000, maxBytes: 1e9 };
  return pageOf(log, runtime, bounds).entries.map(({ seq }) => seq);
}
