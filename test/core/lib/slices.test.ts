import { expect, test } from 'vitest';
import { jsonInSlices, runSlice } from '../../../src/core/lib/slices.ts';

/** Returns a clock that advances by one millisecond at each call. */
function ticking() {
  let now = 0;
  return { monotonic: () => now++ };
}

test('A slice of work ends after its time but does at least one item, and returns the next position.', () => {
  const items = Array.from({ length: 20 }, (_, n) => n);
  const done: number[] = [];
  const stops: number[] = [];
  const clock = ticking();
  for (let at = 0; at < items.length;) {
    at = runSlice(clock, items, at, (item) => done.push(item));
    stops.push(at);
  }
  expect(done).toEqual(items);
  expect(stops.length).toBeGreaterThan(1);
  const slow = { monotonic: () => (slow.now += 1000), now: 0 };
  expect(runSlice(slow, items, 7, () => undefined)).toBe(8);
});

test('The pieces of a JSON text together equal the whole text.', async () => {
  const value = {
    team: { id: 'a"b', none: null, left: undefined },
    members: Array.from({ length: 300 }, (_, n) => ({ n, text: 'é\n"'.repeat(n) })),
    empty: [],
    map: { a: [{ x: 1 }], b: [] },
    seq: 7,
  };
  const pieces: string[] = [];
  for await (const piece of jsonInSlices(ticking(), value)) pieces.push(piece);
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.join('')).toBe(JSON.stringify(value));
});
