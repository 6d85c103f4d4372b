import { removeLogs } from '../work/processes/log-file.ts';
import { IndexChecker } from '../maintenance/index-checker.ts';
import { Retention } from '../maintenance/retention/retention.ts';
import type { Base } from './base.ts';
import type { Components } from './build.ts';

/** The time between two steps that remove the deltas of settled items from the log, in milliseconds. */
const COMPACT_EVERY_MS = 5000;
/** The time between two checks of the log against its budget, in milliseconds. */
const RETAIN_EVERY_MS = 10_000;
/** The time from the start to the first check of the indexes, and the time between two checks, in milliseconds. */
const FIRST_CHECK_MS = 60_000;
const CHECK_EVERY_MS = 86_400_000;

/** Starts the periodic removal of expired data from the store and the check of its indexes; disposing it ends both. */
export function startMaintenance(
  base: Base,
  { storage, sessions, goals, watches, races, queue, reviews, processes, snapshots }: Components,
): Disposable {
  const { config, clock, log, logger } = base;
  const retention = new Retention({
    ...base,
    store: sessions.store,
    processes: processes.store,
    onTrimmed: (seq) => storage.feed.forgetUpTo(seq),
    onSessionTrimmed(tx, id) {
      queue.sessionTrimmed(tx, id);
      reviews.sessionTrimmed(tx, id);
      goals.sessionTrimmed(tx, id);
      watches.sessionTrimmed(tx, id);
      races.store.sessionTrimmed(tx, id);
      sessions.imports.service.sessionTrimmed(tx, id);
      snapshots.store.forgetSession(tx, id);
      // Files that cannot be removed now are removed later because of their age.
      tx.whenDurable(() =>
        orWarn(snapshots.snapshotObjectStores.removeSession(id), 'cannot remove snapshots', {
          session_id: id,
        }),
      );
    },
    removeLogs: (id) => removeLogs(storage.logs, id),
    budget: storage.budget,
    settings: () => config.now.retention,
  });
  const indexChecker = new IndexChecker(base);
  const ending = new AbortController();
  const timers = [
    clock.after(FIRST_CHECK_MS, () => void indexChecker.run(ending.signal)),
    clock.every(CHECK_EVERY_MS, () => void indexChecker.run(ending.signal)),
    clock.every(COMPACT_EVERY_MS, () => orWarn(compact(), 'cannot remove settled deltas')),
    clock.every(RETAIN_EVERY_MS, () => orWarn(retain(), 'cannot remove expired data')),
  ];
  return {
    [Symbol.dispose]() {
      for (const timer of timers) timer[Symbol.dispose]();
      ending.abort();
    },
  };

  async function compact(): Promise<void> {
    while (await log.compact());
    while (await storage.idempotencyStore.trim());
  }

  async function retain(): Promise<void> {
    await retention.run(ending.signal);
    // Earlier snapshots expire even if snapshots are switched off.
    await snapshots.snapshotObjectStores.trim();
  }

  function orWarn(work: Promise<void>, message: string, about: object = {}): void {
    work.catch((error: unknown) => logger.warn({ err: error, ...about }, message));
  }
}
