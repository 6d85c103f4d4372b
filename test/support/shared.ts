import { afterAll, beforeAll, onTestFinished } from 'vitest';

/** Opens something, runs a function with it, and closes it once the function has ended. */
export type Lend<T> = (use: (opened: T) => Promise<void>) => Promise<void>;

/** Opens something until `close` is called. */
export function openUntilClosed<T>(lend: Lend<T>): {
  opened: Promise<T>;
  close: () => Promise<void>;
} {
  const ready = Promise.withResolvers<T>();
  const over = Promise.withResolvers<void>();
  const closed = lend(async (opened) => {
    ready.resolve(opened);
    await over.promise;
  });
  closed.catch(ready.reject);
  const close = () => {
    over.resolve();
    return closed;
  };
  return { opened: ready.promise, close };
}

/** Opens something for the rest of a test. It is closed when the test has finished. */
export function openForTest<T>(lend: Lend<T>): Promise<T> {
  const { opened, close } = openUntilClosed(lend);
  onTestFinished(close);
  return opened;
}

/**
 * Opens something before the tests of a file or `describe`, and closes it after the last of them: for tests that change
 * nothing another would notice. Returns the function that gives it to a test.
 */
export function shared<T>(noun: string, lend: Lend<T>): () => T {
  let found: { opened: T } | undefined;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const opening = openUntilClosed(lend);
    close = opening.close;
    found = { opened: await opening.opened };
  });
  afterAll(() => close());
  return () => {
    if (!found) throw new Error(`no ${noun}: call it inside a test`);
    return found.opened;
  };
}
