import { expect, test } from 'vitest';
import { inexactNumbers } from '../../src/lib/exact-numbers.ts';

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
])('%s stays what it is.', (literal) => {
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
])('%s would be another number.', (literal) => {
  expect(inexactNumbers(`{"a":[1,${literal},2]}`, 9)).toEqual([literal]);
});

test('Digits in texts and names are no numbers.', () => {
  const json = String.raw`{"12345678901234567890":"12345678901234567890","a\"1e400":"\\","b":"\\\"1e400"}`;
  expect(inexactNumbers(json, 9)).toEqual([]);
});

test('No more are named than are asked for.', () => {
  expect(inexactNumbers('[1e400,1e401,1e402]', 2)).toEqual(['1e400', '1e401']);
});

test.for([
  ['numbers', `[${'1,'.repeat(1_000_000)}1]`],
  ['long numbers', `[${'1.000000000000000000000000001,'.repeat(100_000)}1]`],
  ['one number', `[${'1'.repeat(4_000_000)}]`],
  ['one fraction', `[0.${'1'.repeat(4_000_000)}]`],
  ['zeros', `[1${'0'.repeat(4_000_000)}.${'0'.repeat(4_000_000)}]`],
  ['an exponent', `[1e${'9'.repeat(4_000_000)}]`],
  ['escaped quotes', `["${String.raw`\"`.repeat(2_000_000)}"]`],
  ['backslashes', `["${String.raw`\\`.repeat(2_000_000)}"]`],
  ['texts', `[${'"",'.repeat(1_000_000)}""]`],
] as const)('Many megabytes of %s take no longer than they are long.', ([, json]) => {
  const parse = timeOf(() => JSON.parse(json));
  const look = timeOf(() => inexactNumbers(json, 3));
  // Something quadratic takes thousands of times as long as reading it.
  expect(look).toBeLessThan(100 * parse + 1000);
});

function timeOf(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}
