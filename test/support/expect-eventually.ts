import { expect } from 'vitest';
import { scaled } from './patience.ts';

/**
 * Expects that a value eventually matches, with a time limit for slow machines. `interval` is the time between two
 * reads in milliseconds, longer for expensive reads.
 */
export function expectEventually<T>(look: () => T, timeout = 10_000, interval = 2) {
  return expect.poll(look, { interval, timeout: scaled(timeout) });
}
