import { expect } from 'vitest';
import { scaled } from './patience.ts';

/** Asserts of a value that it comes to be so; a slow machine gets time, a fast one does not wait. */
export function expectEventually<T>(look: () => T, timeout = 10_000) {
  return expect.poll(look, { interval: 2, timeout: scaled(timeout) });
}
