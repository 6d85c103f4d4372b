import { afterAll, beforeAll, onTestFinished } from 'vitest';

/** Opens a value, runs a function with the value, and closes it afterwards. */
export type WithResource<T> = (use: (opened: T) => Promise<void>) => Promise<void>;

/** Opens a value and keeps it open until `close` is called. */
export function openUntilClosed<T>(withResource: WithResource<T>): {
  opened: Promise<T>;
  close: () => Promise<void>;
} {
  const ready = Promise.withResolvers<T>();
  const over = Promise.withResolvers<void>();
  const closed = withResource(async (opened) => {
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

/** Opens a value, which is closed when the test has finished. */
export function openForTest<T>(withResource: WithResource<T>): Promise<T> {
  const { opened, close } = openUntilClosed(withResource);
  onTestFinished(close);
  return opened;
}

/**
 * Opens a value before the tests of a file or `describe`, and closes it after the last one, for tests whose changes do
 * not affect each other. Returns a getter.
 */
export function shared<T>(noun: string, withResource: WithResource<T>): () => T {
  let found: { opened: T } | undefined;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const opening = openUntilClosed(withResource);
    close = opening.close;
    found = { opened: await opening.opened };
  });
  afterAll(() => close());
  return () => {
    if (!found) throw new Error(`no ${noun}: call it inside a test`);
    return found.opened;
  };
}
