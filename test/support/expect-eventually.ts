import { expect } from 'vitest';
import { scaled } from './patience.ts';

/**
 * Asserts of a value that it comes to be so; a slow machine gets time, a fast one does not wait. `interval`: milliseconds
 * between two looks, more where they are most of the work.
 */
export function expectEventually<T>(look: () => T, timeout = 10_000, interval = 2) {
  return expect.poll(look, { interval, timeout: scaled(timeout) });
}
