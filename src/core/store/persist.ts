import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Database } from './database.ts';
import type { Writer } from './transaction.ts';

/** The pause between two attempts to store, in milliseconds. */
const STORE_AGAIN_MS = 1000;

/**
 * Stores something that has already happened, and retries until the disk accepts it, because the turn or process cannot
 * continue before that. Returns false if `signal` aborted first; then startup recovery derives it from the rows.
 */
export async function persist(
  dependencies: { db: Database; clock: Clock; logger: Logger },
  signal: AbortSignal,
  what: object,
  move: (tx: Writer) => void,
): Promise<boolean> {
  const { db, clock, logger } = dependencies;
  for (;;) {
    try {
      await db.transact(move);
      return true;
    } catch (error) {
      logger.error({ err: error, ...what }, 'cannot store an outcome');
      if (signal.aborted) return false;
      await clock.sleep(STORE_AGAIN_MS, signal).catch(() => undefined);
    }
  }
}
