import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { assertBounded, readJson } from '../../../src/server/http/app.ts';
import type { Scanned } from '../../../src/core/lib/json-string.ts';

/** A text that counts how often it is looked at. */
function counted(text: string): { scanned: Scanned; looks: () => number } {
  let looks = 0;
  const charCodeAt = (at: number) => {
    looks++;
    return text.charCodeAt(at);
  };
  return { scanned: { length: text.length, charCodeAt }, looks: () => looks };
}

const pathological: Record<string, (n: number) => string> = {
  'a string of escaped quotes that is not closed': (n) => `"${'\\"'.repeat(n)}`,
  'a string of backslashes': (n) => `"${'\\'.repeat(2 * n)}`,
  'quotes alone': (n) => '"'.repeat(2 * n),
  'quotes that are closed after an escape': (n) => '"\\""'.repeat(n / 2),
  'brackets that open and close': (n) => '[]'.repeat(Math.min(n, 9000)),
  spaces: (n) => ' '.repeat(2 * n),
};

test.each(Object.entries(pathological))(
  'The scan of a body looks at each character once: %s.',
  (_name, make) => {
    for (const n of [1000, 2000, 131_072]) {
      const text = make(n);
      const { scanned, looks } = counted(text);
      assertBounded(scanned);
      expect(looks()).toBeLessThanOrEqual(text.length);
    }
  },
);

test('The scan of a body refuses what is nested deeper than 500 levels, wherever that is.', () => {
  expect(() => readJson('['.repeat(501))).toThrow('nested deeper than 500 levels');
  expect(() => readJson(`{"a":${'{"b":'.repeat(500)}`)).toThrow('nested deeper');
  expect(readJson(`${'['.repeat(500)}${']'.repeat(500)}`)).toBeInstanceOf(Array);
});

test('The scan of a body refuses more values than are ever meant, before they cost anything.', () => {
  expect(() => readJson(`[${'1,'.repeat(4_000_000)}1]`)).toThrow('more than 20000 values');
  expect(() => readJson('{},'.repeat(30_000))).toThrow('more than 20000 values');
});

test('The scan of a body takes every other JSON for what it is, brackets in texts too.', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(readJson(text)).toEqual(JSON.parse(text));
    }),
  );
  const texts = { '[': ']}'.repeat(5000), '"\\': '\\"[{'.repeat(5000) };
  expect(readJson(JSON.stringify(texts))).toEqual(texts);
});

test('The scan of a body names the error in malformed JSON.', () => {
  expect(() => readJson('{"a":')).toThrow('the request body is not valid JSON: ');
});
