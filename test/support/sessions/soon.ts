import { systemClock } from '../../../src/lib/clock.ts';

/** What is waited for, if it comes within a moment; else a failure that says what did not come. */
export async function soon<T>(promise: Promise<T>, what: string, withinMs = 8000): Promise<T> {
  const late = Promise.withResolvers<never>();
  using _limit = systemClock.after(withinMs, () =>
    late.reject(new Error(`it did not come within ${withinMs} ms: ${what}`)),
  );
  return await Promise.race([promise, late.promise]);
}
