import { EventCounts } from '../../maintenance/diagnostics/event-counts.ts';
import { Feed } from '../../../core/events/feed.ts';
import { sqlWasm } from '../../../core/lib/self.ts';
import { prepareLogs } from '../../work/processes/log-file.ts';
import { StorageBudget } from '../../maintenance/retention/budget.ts';
import { Backups } from '../../../core/store/backup.ts';
import { IdempotencyStore } from '../../../core/store/idempotency-store.ts';
import type { Base } from '../base.ts';
import type { Undo } from '../../../core/lib/undo.ts';

export type Storage = ReturnType<typeof buildStorage>;

/** Builds the parts that work on the store and its log without knowing the components: feed, backups and disk budget. */
export function buildStorage(base: Base, undo: Undo) {
  const { directory, config, ids, db, log } = base;
  const backups = undo.use(
    new Backups({
      db,
      directory,
      wasm: sqlWasm,
      newEpoch: () => ids.next('epoch'),
      minFreeBytes: () => config.now.retention.min_free_bytes,
    }),
  );
  const feed = new Feed({ db, log });
  const eventCounts = new EventCounts(db);
  /** The directory of the output of processes. */
  const logs = prepareLogs(directory);
  const budget = new StorageBudget({ ...base, logs, settings: () => config.now.retention });
  const idempotencyStore = new IdempotencyStore(base);
  return {
    backups,
    feed,
    eventCounts,
    logs,
    budget,
    idempotencyStore,
    assertRoom: () => budget.assertRoom(),
  };
}
