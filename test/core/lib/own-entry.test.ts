import { expect, test } from 'vitest';
import { ownEntry } from '../../../src/core/lib/own-entry.ts';

test('A table has only its own entries, and none under the names that every object has.', () => {
  const table: Record<string, string> = { one: 'first' };
  expect(ownEntry(table, 'one')).toBe('first');
  for (const key of ['two', 'constructor', 'toString', '__proto__'])
    expect([key, ownEntry(table, key)]).toEqual([key, undefined]);
});
