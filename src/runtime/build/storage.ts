import { EventTally } from '../../diagnostics/tally.ts';
import { Feed } from '../../events/feed.ts';
import { sqlWasm } from '../../lib/self.ts';
import { prepareLogs } from '../../processes/log-file.ts';
import { StorageBudget } from '../../retention/budget.ts';
import { Backups } from '../../store/backup.ts';
import { KeptAnswers } from '../../store/kept-answers.ts';
import type { Base } from '../base.ts';
import type { Undo } from '../../lib/undo.ts';

export type Storage = ReturnType<typeof buildStorage>;

/** Builds the parts that work on the store and its log without knowing the nouns: feed, backups and disk budget. */
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
  const tally = new EventTally(db);
  /** The directory of the output of processes. */
  const logs = prepareLogs(directory);
  const budget = new StorageBudget({ ...base, logs, settings: () => config.now.retention });
  const keptAnswers = new KeptAnswers(base);
  return { backups, feed, tally, logs, budget, keptAnswers, assertRoom: () => budget.assertRoom() };
}
