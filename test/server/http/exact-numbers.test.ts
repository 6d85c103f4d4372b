import { describe, expect, test } from 'vitest';
import { inexactNumbers } from '../../../src/server/http/exact-numbers.ts';
import { atLength, isAtLength } from '../../support/at-length.ts';

test.for([
  '0',
  '-0',
  '1e2',
  '9007199254740991',
  '9007199254740992',
  '-9007199254740992',
  '9007199254740994',
  '100000000000000000000',
  '1e300',
  '0.1',
  '-1.5E-7',
  '3.141592653589793',
  '0.10000000000000001',
  '2.2250738585072014e-308',
  '5e-324',
  '0.000',
  '0e99999',
  '1.0000000000000000000000000000',
])('The number %s is exact.', (literal) => {
  expect(inexactNumbers(`{"a":[${literal}]}`, 9)).toEqual([]);
});

test.for([
  '12345678901234567890',
  '9007199254740993',
  '-9007199254740993',
  '18446744073709551615',
  '36028797018963968',
  '9007199254740993.0',
  '1e400',
  '-1e400',
  '1e-400',
  '0.1234567890123456789',
  '1234567890123456789e3',
])('The number %s is inexact.', (literal) => {
  expect(inexactNumbers(`{"a":[1,${literal},2]}`, 9)).toEqual([literal]);
});

test('Digits in texts and field names are ignored.', () => {
  const json = String.raw`{"12345678901234567890":"12345678901234567890","a\"1e400":"\\","b":"\\\"1e400"}`;
  expect(inexactNumbers(json, 9)).toEqual([]);
});

test('At most the requested count of inexact numbers is returned.', () => {
  expect(inexactNumbers('[1e400,1e401,1e402]', 2)).toEqual(['1e400', '1e401']);
});

const SIZE = atLength(50_000, 1_000_000);

describe.each([
  ['numbers', `[${'1,'.repeat(SIZE)}1]`, 0],
  ['long numbers', `[${'1.000000000000000000000000001,'.repeat(SIZE / 10)}1]`, 3],
  ['digits', `[${'1'.repeat(4 * SIZE)}]`, 1],
  ['digits of a fraction', `[0.${'1'.repeat(4 * SIZE)}]`, 1],
  ['zeros', `[1${'0'.repeat(4 * SIZE)}.${'0'.repeat(4 * SIZE)}]`, 1],
  ['digits of an exponent', `[1e${'9'.repeat(4 * SIZE)}]`, 1],
  ['escaped quotes', `["${String.raw`\"`.repeat(2 * SIZE)}"]`, 0],
  ['backslashes', `["${String.raw`\\`.repeat(2 * SIZE)}"]`, 0],
  ['texts', `[${'"",'.repeat(SIZE)}""]`, 0],
] as const)('a text of many %s', (_name, json, count) => {
  test('A long text is read to its end.', () => {
    expect(inexactNumbers(json, 3)).toHaveLength(count);
  });

  test.runIf(isAtLength)('The time for a long text grows in proportion to its length.', () => {
    const parse = timeOf(() => JSON.parse(json));
    const look = timeOf(() => inexactNumbers(json, 3));
    // Quadratic work takes thousands of times as long as JSON.parse.
    expect(look).toBeLessThan(100 * parse + 1000);
  });
});

function timeOf(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}
