import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventRecord, fitPayload, scopeColumn } from '../../../src/core/events/event.ts';
import { firstBytes } from '../../../src/core/lib/cut.ts';
import { untypedDraft } from '../../support/untyped-events.ts';
import { atLength } from '../../support/at-length.ts';
import { anyText } from '../../support/any-text.ts';

const KIB = 1024;
const MOST = 256 * KIB;
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** Texts with characters of every width, and with lone surrogates. */
const someText = fc.oneof(
  anyText({ maxLength: 300 }),
  fc
    .array(fc.nat({ max: 0xffff }), { maxLength: 300 })
    .map((units) => String.fromCharCode(...units)),
);

test('A text within the limit is not changed.', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(firstBytes(text, Buffer.byteLength(text))).toBe(text);
    }),
  );
});

test('A cut text has only whole characters, and as many as fit within the limit.', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(600), (text, limit) => {
      const cut = firstBytes(text, limit);
      expect(text.startsWith(cut)).toBe(true);
      expect(cut.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit);
      const left = Buffer.byteLength(text) - Buffer.byteLength(cut);
      if (left > 0) expect(limit - Buffer.byteLength(cut)).toBeLessThan(4);
    }),
  );
});

test('A cut text is always well-formed.', () => {
  fc.assert(
    fc.property(someText, fc.nat(600), (text, limit) => {
      const cut = firstBytes(text, limit);
      if (cut !== text) expect(cut.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit);
    }),
  );
});

test.for([
  ['aé', 2, 'a'],
  ['aé', 3, 'aé'],
  ['€€', 5, '€'],
  ['💥', 3, ''],
  ['💥', 4, '💥'],
  ['abc', 0, ''],
  ['', 10, ''],
] as const)('The text "%s" cut to %i bytes is "%s".', ([text, limit, cut]) => {
  expect(firstBytes(text, limit)).toBe(cut);
});

test('A payload of up to 256 KiB is not changed.', () => {
  const room = MOST - bytes({ text: '' });
  const payload = { text: 'x'.repeat(room) };
  expect(bytes(payload)).toBe(MOST);
  expect(fitPayload(payload)).toBe(payload);
  expect(fitPayload({ text: 'x'.repeat(room + 1) })).not.toHaveProperty('text.length', room + 1);
});

test('Texts of a larger payload are cut to 64 KiB, and total_bytes is the size of the longest one.', () => {
  const long = '€'.repeat(100_000);
  const payload = {
    item_id: 'item_1',
    offset: 0,
    text: long,
    tool: { title: 'a tool', input: { deep: [1, { diff: 'y'.repeat(70_000) }] } },
  };
  expect(fitPayload(payload)).toEqual({
    item_id: 'item_1',
    offset: 0,
    text: '€'.repeat(Math.floor((64 * KIB) / 3)),
    tool: { title: 'a tool', input: { deep: [1, { diff: 'y'.repeat(64 * KIB) }] } },
    truncated: true,
    total_bytes: 300_000,
  });
  expect(payload.text).toBe(long);
});

test('A text that JSON escapes to a greater length keeps its beginning.', () => {
  const fitted = fitPayload({ item_id: 'item_1', text: '\u001b'.repeat(100 * KIB) });
  expect(bytes(fitted)).toBeLessThanOrEqual(MOST);
  expect(fitted).toMatchObject({ item_id: 'item_1', truncated: true, total_bytes: 100 * KIB });
  expect(String(fitted.text)).toMatch(/^\u001b+$/);
});

test('A payload with a large list keeps its identifying fields.', () => {
  const fitted = fitPayload({
    item_id: 'item_1',
    offset: 7,
    status: 'completed',
    nothing: null,
    list: Array.from({ length: 100_000 }, (_, i) => i),
  });
  expect(fitted).toMatchObject({
    item_id: 'item_1',
    offset: 7,
    status: 'completed',
    nothing: null,
    truncated: true,
  });
  expect(fitted).not.toHaveProperty('list');
});

test('The large fields of a record are left out if it is still too long, and other fields stay.', () => {
  const list = Array.from({ length: 100_000 }, (_, i) => i);
  const given = { record: { id: 'x', title: 'y'.repeat(2000), list, short: [1] }, more: 1 };
  const large = ['record.list', 'record.short', 'more'];
  expect(fitPayload(given, { large, exact: [] })).toEqual({
    record: { id: 'x', title: 'y'.repeat(1024), short: [1] },
    more: 1,
    truncated: true,
    total_bytes: 2000,
  });
});

test('An exact field is left out before any text is cut, and is never cut itself.', () => {
  const given = { record: { id: 'x', diff: 'd'.repeat(MOST), other: 'y'.repeat(70_000) } };
  const exact = ['record.diff'];
  expect(fitPayload(given, { large: exact, exact })).toMatchObject({
    record: { id: 'x', other: 'y'.repeat(64 * KIB) },
    truncated: true,
  });
  expect(fitPayload(given, { large: exact, exact })).not.toHaveProperty('record.diff');
});

test('A fitted payload always has at most 256 KiB, and is unchanged if it had no more.', () => {
  const texts = fc
    .tuple(
      fc.constantFrom('x', '€', '💥', '"', '\\', '\n', '\u0001', '\ud800'),
      fc.integer({ min: 0, max: 120_000 }),
    )
    .map(([unit, count]) => unit.repeat(count));
  const value = fc.oneof(
    { withCrossShrink: true },
    texts,
    fc.integer(),
    fc.constant(null),
    fc.array(texts, { maxLength: 4 }),
    fc.record({ inner: texts, more: fc.record({ inner: texts }) }),
    fc.integer({ min: 0, max: 60_000 }).map((length) => Array.from({ length }, (_, i) => i)),
  );
  const payload = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), value, { maxKeys: 6 });
  fc.assert(
    fc.property(payload, (given) => {
      const fitted = fitPayload(given);
      expect(bytes(fitted)).toBeLessThanOrEqual(MOST);
      if (bytes(given) > MOST) {
        expect(fitted.truncated).toBe(true);
        expect(fitted.total_bytes).toBeTypeOf('number');
      } else expect(fitted).toEqual(given);
    }),
    { numRuns: atLength(25, 300, 60) },
  );
});

test('A payload with very many fields has at most 256 KiB, too.', () => {
  const many = Object.fromEntries(
    Array.from({ length: 1000 }, (_, i) => [`field_${i}`, 'x'.repeat(500)]),
  );
  const fitted = fitPayload(many);
  expect(fitted.truncated).toBe(true);
  expect(bytes(fitted)).toBeLessThanOrEqual(MOST);
});

test('An event record has every field, and null where the draft has no value.', () => {
  const given = { seq: 7, id: 'evt_1', now: 123 };
  expect(
    eventRecord({ kind: 'runtime.started', payload: { previous_stop: 'none' } }, given).record,
  ).toEqual({
    seq: 7,
    id: 'evt_1',
    kind: 'runtime.started',
    scope: 'runtime',
    session_id: null,
    turn_id: null,
    process_id: null,
    worktree_id: null,
    team_id: null,
    created_at: 123,
    v: 1,
    payload: { previous_stop: 'none' },
  });
});

test('The kind of an event determines its scope; turns and output belong to the session.', () => {
  const given = { seq: 1, id: 'evt_1', now: 1 };
  const scopeOf = (
    kind: 'turn.started' | 'message.delta' | 'session.closed' | 'runtime.stopping',
  ) => eventRecord(untypedDraft({ kind, session_id: 'sess_1', payload: {} }), given).record.scope;
  expect(scopeOf('turn.started')).toBe('session');
  expect(scopeOf('message.delta')).toBe('session');
  expect(scopeOf('session.closed')).toBe('session');
  expect(scopeOf('runtime.stopping')).toBe('runtime');
});

test('A scope selects the events with its id, and the runtime scope selects all events.', () => {
  expect(scopeColumn({ name: 'runtime' })).toBeNull();
  expect(scopeColumn({ name: 'session', id: 'x' })).toBe('session_id');
  expect(scopeColumn({ name: 'team', id: 'x' })).toBe('team_id');
});
