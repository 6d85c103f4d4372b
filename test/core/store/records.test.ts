import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Note,
  note,
  openStore,
  type TestStore,
  eventDraft,
  query,
  freshStore,
} from '../../support/store.ts';
import { atLength } from '../../support/at-length.ts';
import { tempDirectory } from '../../support/temp.ts';
import { pageOf } from '../../support/entries.ts';
import { anyText } from '../../support/any-text.ts';

const MIB = 1024 * 1024;

test('The first page starts with the newest record, and the next page continues after it.', async () => {
  const { store } = await freshStore();
  await insert(store, ['a', 'b', 'c', 'd', 'e']);
  const first = store.db.peek((rx) => store.notes.page(rx, {}, 2));
  expect(first.records.map(({ id }) => id)).toEqual(['e', 'd']);
  const second = store.db.peek((rx) => store.notes.page(rx, {}, 2, first.nextCursor ?? ''));
  expect(second.records.map(({ id }) => id)).toEqual(['c', 'b']);
  const third = store.db.peek((rx) => store.notes.page(rx, {}, 2, second.nextCursor ?? ''));
  expect(third.records.map(({ id }) => id)).toEqual(['a']);
  expect(third.nextCursor).toBe(null);
});

test('A page with the oldest record has no next page, even if it is full.', async () => {
  const { store } = await freshStore();
  expect(store.db.peek((rx) => store.notes.page(rx, {}, 3))).toEqual({
    records: [],
    nextCursor: null,
  });
  await insert(store, ['a', 'b', 'c']);
  expect(store.db.peek((rx) => store.notes.page(rx, {}, 3)).nextCursor).toBe(null);
  expect(store.db.peek((rx) => store.notes.page(rx, {}, 4)).nextCursor).toBe(null);
  expect(store.db.peek((rx) => store.notes.page(rx, {}, 2)).nextCursor).not.toBe(null);
});

test('Inserts and updates between two pages do not shift the second page.', async () => {
  const { store } = await freshStore();
  await insert(store, ['a', 'b', 'c', 'd']);
  const first = store.db.peek((rx) => store.notes.page(rx, {}, 2));
  await insert(store, ['e', 'f']);
  await store.db.transact((tx) => store.notes.update(tx, note('a', { version: 2 })));
  const second = store.db.peek((rx) => store.notes.page(rx, {}, 2, first.nextCursor ?? ''));
  expect(second.records.map(({ id, version }) => [id, version])).toEqual([
    ['b', 1],
    ['a', 2],
  ]);
});

test('A page has only records whose current columns equal the filters.', async () => {
  const { store } = await freshStore();
  await insert(store, ['a', 'b', 'c']);
  await store.db.transact((tx) => {
    store.notes.update(tx, note('b', { status: 'closed' }));
    store.notes.update(tx, note('c', { status: 'closed', provider: 'codex' }));
  });
  const ids = (filters: Record<string, string | undefined>) =>
    store.db.peek((rx) => store.notes.page(rx, filters, 10)).records.map(({ id }) => id);
  expect(ids({ status: 'closed' })).toEqual(['c', 'b']);
  expect(ids({ status: 'closed', provider: 'acp' })).toEqual(['b']);
  expect(ids({ status: undefined, provider: 'acp' })).toEqual(['b', 'a']);
  expect(ids({ status: 'gone' })).toEqual([]);
});

test('All pages of any size together have each record once.', async () => {
  const { store } = await freshStore();
  const ids = Array.from({ length: 30 }, (_, i) => `n${i}`);
  await insert(store, ids, (i) => ({ status: i % 3 === 0 ? 'ready' : 'closed' }));
  const limits = fc.integer({ min: 1, max: 40 });
  fc.assert(
    fc.property(limits, fc.constantFrom(undefined, 'ready', 'closed'), (limit, status) => {
      const given = [...allPages(store, { status }, limit)];
      const wanted = store.db
        .peek((rx) => store.notes.where(rx, 'n > 0'))
        .filter((one) => !status || one.status === status);
      expect(given).toEqual(wanted.map(({ id }) => id).toReversed());
    }),
  );
});

test.each([
  ['letters', 'x', 3 * MIB],
  ['three-byte characters', '\u8a9e', MIB],
])('A page ends before 8 MiB of %s, whatever its limit.', async (_what, character, count) => {
  const { store } = await freshStore();
  await insert(store, ['a', 'b', 'c'], () => ({ text: character.repeat(count) }));
  const pages: string[][] = [];
  for (let cursor: string | undefined; ;) {
    const { records, nextCursor } = store.db.peek((rx) => store.notes.page(rx, {}, 100, cursor));
    pages.push(records.map(({ id }) => id));
    if (nextCursor === null) break;
    cursor = nextCursor;
  }
  expect(pages).toEqual([['c', 'b'], ['a']]);
});

test('A page has at least one record, however large it is.', async () => {
  const { store } = await freshStore();
  await insert(store, ['a', 'b'], () => ({ text: 'x'.repeat(9 * MIB) }));
  const { records, nextCursor } = store.db.peek((rx) => store.notes.page(rx, {}, 100));
  expect(records.map(({ id }) => id)).toEqual(['b']);
  const next = store.db.peek((rx) => store.notes.page(rx, {}, 100, nextCursor ?? ''));
  expect(next.records.map(({ id }) => id)).toEqual(['a']);
  expect(next.nextCursor).toBe(null);
});

test.each([
  ['letters', 'x', 30_000],
  ['three-byte characters', '\u8a9e', 10_000],
])(
  'A page ends before its limit in bytes of %s, but has at least one event.',
  async (_what, character, count) => {
    const { store } = await freshStore();
    await store.db.transact((tx) => {
      for (let i = 0; i < 5; i++)
        store.log.append(tx, eventDraft('a', { text: character.repeat(count) }));
    });
    const page = (maxBytes: number, after = 0) =>
      pageOf(
        store.log,
        { name: 'runtime' },
        { after, upTo: store.db.durableSeq, limit: 100, maxBytes },
      ).entries.map(({ seq }) => seq);
    expect(page(70_000)).toEqual([1, 2]);
    expect(page(70_000, 2)).toEqual([3, 4]);
    expect(page(10)).toEqual([1]);
  },
);

test('An updated record must exist, and keeps its position.', async () => {
  const { store } = await freshStore();
  await insert(store, ['a', 'b']);
  await store.db.transact((tx) => store.notes.update(tx, note('a', { version: 2 })));
  expect(store.db.peek((rx) => store.notes.where(rx, 'n > 0')).map(({ id }) => id)).toEqual([
    'a',
    'b',
  ]);
  const missing = store.db.transact((tx) => store.notes.update(tx, note('c')));
  await expect(missing).rejects.toThrow(
    'cannot update row c of table sessions, because the row does not exist',
  );
  expect(store.db.peek((rx) => store.notes.get(rx, 'c'))).toBe(undefined);
});

test('A second record with the same id is refused.', async () => {
  const { store } = await freshStore();
  await insert(store, ['a']);
  await expect(insert(store, ['a'])).rejects.toThrow(/UNIQUE/);
  await insert(store, ['b']);
  expect(store.db.peek((rx) => store.notes.where(rx, 'n > 0')).map(({ id }) => id)).toEqual([
    'a',
    'b',
  ]);
});

test.each([
  ['nothing', ''],
  ['emoji and their joiners', '\u{1f469}\u200d\u{1f4bb}\u{1f3f4}\u{e0067}\u{e007f}'],
  ['NUL', 'before\0after\0'],
  ['lone surrogates', '\ud83d and \udc00'],
  ['a byte order mark', '\ufeffx\ufeff'],
  ['what JSON and JavaScript escape', '"\\\b\f\n\r\t\u2028\u2029\u007f\u0001'],
  ['three megabytes', 'x'.repeat(3 * MIB)],
  ['three megabytes of emoji', '\u{1f600}'.repeat((3 * MIB) / 4)],
  ['non-characters', '\uffff\ufffe\u{10ffff}'],
])('A record with %s in it is read back unchanged.', async (_what, text) => {
  await using directory = tempDirectory();
  {
    await using store = await openStore(directory.path);
    await insert(store, ['a'], () => ({ text }));
    expect(store.db.peek((rx) => store.notes.get(rx, 'a'))?.text === text).toBe(true);
    await store.db.transact((tx) => store.notes.update(tx, note('a', { text: `${text}!` })));
  }
  await using store = await openStore(directory.path);
  expect(store.db.peek((rx) => store.notes.get(rx, 'a'))?.text === `${text}!`).toBe(true);
});

test('A record with any texts, numbers and nulls is read back unchanged.', async () => {
  const { store } = await freshStore();
  let count = 0;
  const someText = fc.oneof(
    anyText(),
    fc.string({ unit: 'grapheme' }),
    fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  );
  await fc.assert(
    fc.asyncProperty(someText, someText, fc.jsonValue(), async (id, text, extra) => {
      const given = { ...note(`${++count}`), text, extra, provider: id };
      await store.db.transact((tx) => store.notes.insert(tx, given));
      const stored: unknown = store.db.peek((rx) => store.notes.get(rx, given.id));
      expect(stored).toEqual(JSON.parse(JSON.stringify(given)));
    }),
    { numRuns: atLength(60, 200, 200) },
  );
});

const ends = [2 ** 31, 2 ** 32, 2 ** 40, Number.MAX_SAFE_INTEGER];
const integers = [0, 1, ...ends.flatMap((end) => [end, end - 1]), 123_456_789_012];

test('Integers up to 2^53 - 1 of either sign are stored exactly, as integers.', async () => {
  const { store } = await freshStore();
  const insertOne = store.db.prepare('INSERT INTO trimmed (scope, seq) VALUES (?, ?)');
  const all = [...integers, ...integers.filter((value) => value > 0).map((value) => -value)];
  await store.db.transact((tx) =>
    all.forEach((value, i) => void insertOne.run(tx, `i${String(i).padStart(3, '0')}`, value)),
  );
  const stored = store.db.prepare('SELECT seq, typeof(seq) FROM trimmed ORDER BY scope');
  expect(store.db.peek((rx) => stored.all(rx))).toEqual(all.map((value) => [value, 'integer']));
  const equal = store.db.prepare('SELECT count(*) FROM trimmed WHERE seq = ?');
  const atLeast = store.db.prepare('SELECT count(*) FROM trimmed WHERE seq >= ?');
  for (const value of all) {
    expect(store.db.peek((rx) => equal.get(rx, value))).toEqual([1]);
    expect(store.db.peek((rx) => atLeast.get(rx, value))).toEqual([
      all.filter((other) => other >= value).length,
    ]);
  }
});

test('Any text, number and null of any size is returned unchanged.', async () => {
  const { store } = await freshStore();
  const echo = store.db.prepare('SELECT ?, ?, ?');
  // A statement reserves 16 KiB for texts, at three bytes a character.
  const long = fc
    .tuple(
      fc.constantFrom('x', '\u00e9', '\u8a9e', '\u{1f600}'),
      fc.integer({ min: 0, max: 12_000 }),
    )
    .map(([character, length]) => character.repeat(length));
  const value = fc.oneof(
    anyText(),
    long,
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
    fc.constant(null),
  );
  fc.assert(
    fc.property(value, value, value, (...values) => {
      expect(store.db.peek((rx) => echo.get(rx, ...values))).toEqual(values);
    }),
    { numRuns: atLength(100, 300, 300) },
  );
});

test('A statement does not reuse values of an earlier run.', async () => {
  const { store } = await freshStore();
  const echo = store.db.prepare('SELECT ?, ?');
  expect(store.db.peek((rx) => echo.get(rx, 'a', 'x'.repeat(100_000)))).toEqual([
    'a',
    'x'.repeat(100_000),
  ]);
  expect(store.db.peek((rx) => echo.get(rx, null, 'b'))).toEqual([null, 'b']);
  expect(store.db.peek((rx) => echo.get(rx, 'c'))).toEqual(['c', null]);
});

test('A statement works again after SQLite has refused a run.', async () => {
  const { store } = await freshStore();
  const add = store.db.prepare("INSERT INTO meta (key, value) VALUES ('k', ?)");
  expect(await store.db.transact((tx) => add.run(tx, 'a'))).toBe(1);
  await expect(store.db.transact((tx) => add.run(tx, 'b'))).rejects.toThrow(/UNIQUE/);
  const remove = store.db.prepare("DELETE FROM meta WHERE key = 'k'");
  expect(await store.db.transact((tx) => remove.run(tx) + remove.run(tx))).toBe(1);
  expect(await store.db.transact((tx) => add.run(tx, 'c'))).toBe(1);
  expect(query(store.db, "SELECT value FROM meta WHERE key = 'k'")[0]).toEqual(['c']);
});

test('A scan stops on request or on an error, and leaves nothing open.', async () => {
  const { store } = await freshStore({ checkpointBytes: 1 });
  await insert(store, ['a', 'b', 'c']);
  const ids = store.db.prepare<[string]>('SELECT id FROM sessions ORDER BY n');
  const seen: string[] = [];
  store.db.peek((rx) => ids.scan(rx, [], ([id]) => seen.push(id) < 2));
  expect(seen).toEqual(['a', 'b']);
  expect(() =>
    store.db.peek((rx) =>
      ids.scan(rx, [], () => {
        throw new Error('enough');
      }),
    ),
  ).toThrow('enough');
  expect(store.db.peek((rx) => ids.all(rx))).toEqual([['a'], ['b'], ['c']]);
  const { checkpoints } = store.db;
  await insert(store, ['d']);
  await insert(store, ['e']);
  expect(store.db.checkpoints).toBeGreaterThan(checkpoints);
  expect(store.warnings).toEqual([]);
});

test('A statement is prepared at its first run, and an invalid one is refused with its SQL.', async () => {
  const { store } = await freshStore();
  const statement = store.db.prepare('SELEKT 1');
  await expect(store.db.transact((tx) => statement.run(tx))).rejects.toThrow(/SELEKT 1/);
});

/** Inserts notes in one transaction. */
function insert(
  store: TestStore,
  ids: string[],
  rest: (i: number) => Partial<Note> = () => ({}),
): Promise<void> {
  return store.db.transact((tx) =>
    ids.forEach((id, i) => store.notes.insert(tx, note(id, rest(i)))),
  );
}

/** Yields the ids of all pages in order. */
function* allPages(
  store: TestStore,
  filters: Record<string, string | undefined>,
  limit: number,
): Generator<string> {
  for (let cursor: string | undefined; ;) {
    const { records, nextCursor } = store.db.peek((rx) =>
      store.notes.page(rx, filters, limit, cursor),
    );
    expect(records.length).toBeLessThanOrEqual(limit);
    for (const { id } of records) yield id;
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}
