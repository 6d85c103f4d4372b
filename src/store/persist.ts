import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Database } from './database.ts';
import type { Writer } from './transaction.ts';

/** What could not be stored is tried again this often. */
const STORE_AGAIN_MS = 1000;

/**
 * Stores what has happened already. Where the disk refuses, again and again: nothing can go on without it. False
 * when `signal` aborted before it was stored; the next start takes it from there.
 */
export async function persist(
  given: { db: Database; clock: Clock; logger: Logger },
  signal: AbortSignal,
  what: object,
  move: (tx: Writer) => void,
): Promise<boolean> {
  const { db, clock, logger } = given;
  for (;;) {
    try {
      await db.transact(move);
      return true;
    } catch (error) {
      logger.error({ err: error, ...what }, 'what has happened could not be stored');
      if (signal.aborted) return false;
      await clock.sleep(STORE_AGAIN_MS, signal).catch(() => undefined);
    }
  }
}
