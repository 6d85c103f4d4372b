import { expect } from 'vitest';

/** Asserts of a value that it comes to be so; a slow machine gets time, a fast one does not wait. */
export function expectEventually<T>(look: () => T, timeout = 10_000) {
  return expect.poll(look, { interval: 2, timeout });
}
