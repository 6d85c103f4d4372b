import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  ANSWER_BYTES,
  bounded,
  fitted,
  type LeftOut,
} from '../../../../src/server/teams/gateway/bounded.ts';
import { firstBytes, lastBytesAsJson, lastBytes, jsonBytes } from '../../../../src/core/lib/cut.ts';
import { anyText } from '../../../support/any-text.ts';

const items = (count: number, text = 'x'.repeat(200)) =>
  Array.from({ length: count }, (_, n) => ({ n, text }));

it('An answer that fits is returned unchanged.', () => {
  const given = bounded({ team: { id: 't' } }, { members: { items: items(3) } });
  expect(given).toEqual({ team: { id: 't' }, members: items(3), left_out: null });
});

it('The answer of a tool never exceeds its limit, whatever it contains.', () => {
  fc.assert(
    fc.property(
      fc.anything({ maxDepth: 4, withNullPrototype: false }),
      fc.array(anyText({ maxLength: 3000 }), { maxLength: 40 }),
      fc.integer({ min: 2048, max: 20_000 }),
      (fixed, texts, bytes) => {
        const given = bounded({ fixed }, { texts: { items: texts } }, bytes);
        expect(jsonBytes(given)).toBeLessThanOrEqual(bytes);
      },
    ),
  );
});

it('An answer has the first entries that fit, the number of omitted ones, and how to see them.', () => {
  const given = bounded(
    {},
    { members: { items: items(500), next: (shown) => ({ cursor: String(shown) }) } },
  );
  const { length } = given.members as unknown[];
  expect(length).toBeGreaterThan(20);
  expect(given.members).toEqual(items(500).slice(0, length));
  expect(given.left_out).toEqual([
    { what: 'members', count: 500 - length, next: { cursor: String(length) } },
  ]);
});

it('A field with the name __proto__ is in an answer that was cut, too.', () => {
  const value: unknown = JSON.parse(`{"__proto__":{"a":1},"text":"${'x'.repeat(2 ** 17)}"}`);
  const cut = JSON.stringify(fitted(value, ANSWER_BYTES));
  expect(cut).toMatch(/^\{"__proto__":\{"a":1\},"text":"x+… /);
});

it('An answer leaves room for a second list.', () => {
  const given = bounded(
    {},
    { members: { items: items(500), share: 0.6 }, messages: { items: items(500) } },
  );
  expect((given.messages as unknown[]).length).toBeGreaterThan(10);
  expect((given.left_out as LeftOut[]).map(({ what }) => what)).toEqual(['members', 'messages']);
});

it('Long texts of an answer are cut at whole characters, with a mark and the omitted length.', () => {
  const { text } = fitted({ text: '€'.repeat(20_000) }, ANSWER_BYTES) as { text: string };
  const [, kept = '', left] = /^(€+)… \[(\d+) more bytes left out\]$/.exec(text) ?? [];
  expect(Buffer.byteLength(kept) + Number(left)).toBe(60_000);
});

it('Cutting a text keeps whole characters, at its beginning and at its end.', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat({ max: 60 }), (text, bytes) => {
      for (const cut of [firstBytes(text, bytes), lastBytes(text, bytes)])
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bytes);
      expect(text.startsWith(firstBytes(text, bytes))).toBe(true);
      expect(text.endsWith(lastBytes(text, bytes))).toBe(true);
      const json = lastBytesAsJson(text, bytes + 2);
      expect(text.endsWith(json)).toBe(true);
      expect(jsonBytes(json)).toBeLessThanOrEqual(bytes + 2);
    }),
  );
});
