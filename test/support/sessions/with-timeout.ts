import { systemClock } from '../../../src/core/lib/clock.ts';
import { scaled } from '../patience.ts';

/** Resolves like a promise, or throws an error that names `what` after the time limit. */
export async function withTimeout<T>(
  promise: Promise<T>,
  what: string,
  withinMs = 8000,
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const limit = scaled(withinMs);
  using _limit = systemClock.after(limit, () =>
    late.reject(new Error(`it did not come within ${limit} ms: ${what}`)),
  );
  return await Promise.race([promise, late.promise]);
}
