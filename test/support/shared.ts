import { afterAll, beforeAll } from 'vitest';

/**
 * Opens a value before the tests of a file or `describe`, and closes it after the last one, for tests whose changes do
 * not affect each other. `open` runs a function with the value, and closes it afterwards. Returns a getter.
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
    // If the value cannot be opened, all tests fail with that error.
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
