import { afterAll, beforeAll } from 'vitest';

/**
 * Opens something before the tests of a file or `describe`, and closes it after the last of them: for tests that change
 * nothing another would notice. `open` runs a function with it, and closes it once that has ended. Returns what gives it
 * to a test.
 */
export function shared<T>(
  noun: string,
  open: (use: (opened: T) => Promise<void>) => Promise<void>,
): () => T {
  const over = Promise.withResolvers<void>();
  let found: { opened: T } | undefined;
  let closed: Promise<void> = Promise.resolve();
  beforeAll(async () => {
    const ready = Promise.withResolvers<void>();
    closed = open(async (opened) => {
      found = { opened };
      ready.resolve();
      await over.promise;
    });
    // Whatever keeps it from opening fails the tests with its own error.
    await Promise.race([ready.promise, closed]);
  });
  afterAll(async () => {
    over.resolve();
    await closed;
  });
  return () => {
    if (!found) throw new Error(`no ${noun}: call it inside a test`);
    return found.opened;
  };
}
