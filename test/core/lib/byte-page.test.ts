import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { BytePage } from '../../../src/core/lib/byte-page.ts';

test('A page has all its pieces in order, whatever their sizes, and is empty after a flush.', () => {
  const size = fc.constantFrom(0, 1, 100, 70_000, 1_200_000);
  const page = new BytePage();
  fc.assert(
    fc.property(fc.array(fc.tuple(size, fc.boolean()), { maxLength: 8 }), (pieces) => {
      const expected: Buffer[] = [];
      for (const [i, [length, isText]] of pieces.entries()) {
        const piece = Buffer.alloc(length, String(i));
        expected.push(piece);
        if (isText) page.ascii(piece.toString());
        else page.bytes(piece);
      }
      const whole = Buffer.concat(expected);
      expect(page.length).toBe(whole.length);
      expect(page.flush().equals(whole)).toBe(true);
      expect(page.length).toBe(0);
    }),
    { numRuns: 50 },
  );
});

test('Flushed bytes do not change with later writes.', () => {
  const page = new BytePage();
  page.ascii('first');
  const taken = page.flush();
  page.ascii('later');
  expect(taken.toString()).toBe('first');
  page.clear();
  page.bytes(Buffer.from('last'));
  expect(page.flush().toString()).toBe('last');
});
