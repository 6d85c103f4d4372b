import { AppError } from '../api/errors.ts';
import type { Clock } from '../core/lib/clock.ts';

/** How long a request is repeated, in milliseconds: the choice of a new leader takes up to 10 s after one hangs. */
export const PATIENCE_MS = 20_000;
const PAUSE_MS = 250;

/**
 * Repeats a request that may be repeated, while NATS does not answer or has no leader, for 20 s. The connection moves to
 * another server meanwhile, where its own hangs. Throws the last error.
 */
export async function patiently<T>(
  clock: Clock,
  request: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (const begun = clock.monotonic(); ;) {
    try {
      return await request();
    } catch (error) {
      if (!isPassing(error) || clock.monotonic() - begun >= PATIENCE_MS) throw error;
    }
    await clock.sleep(PAUSE_MS, signal);
  }
}

/** Whether the same request may succeed soon. */
export function isPassing(error: unknown): boolean {
  return error instanceof AppError && error.code === 'unreachable';
}
