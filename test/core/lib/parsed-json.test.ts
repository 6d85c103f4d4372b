import { expect, test } from 'vitest';
import { parsedJson } from '../../../src/core/lib/parsed-json.ts';

test('A text that is not JSON is not parsed.', () => {
  expect(parsedJson('{"a":1}')).toEqual({ a: 1 });
  expect(parsedJson('{"a"')).toBeUndefined();
});
