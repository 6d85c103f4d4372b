import type { AppError } from '../api/errors.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Client, HttpClient } from './client.ts';

/** A server from the configuration or the command line, and how to connect to it. */
export interface Address<C extends Client = HttpClient> {
  name: string;
  url: string;
  /** An error where it is known without asking that nothing can be asked of it: no token is known, or it does not run. */
  client: C | AppError;
}

/** A server that does not answer within this time, in ms, is unreachable. */
const PATIENCE_MS = 5000;

/** Calls with a time limit, after which the call throws `unreachable`. */
export async function within<T>(
  clock: Clock,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  using _limit = clock.after(PATIENCE_MS, () => late.abort());
  return await call(late.signal);
}
