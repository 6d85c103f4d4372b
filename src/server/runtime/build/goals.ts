import { CheckRunner } from '../../conversations/goals/check-runner.ts';
import { GoalService } from '../../conversations/goals/service.ts';
import { GoalStore } from '../../conversations/goals/store.ts';
import { logPath } from '../../work/processes/log-file.ts';
import { NOTICE_TAIL } from '../../work/processes/notices.ts';
import { readPrinted } from '../../work/processes/reading.ts';
import type { Base } from '../base.ts';
import type { Processes } from './processes.ts';
import type { Sessions } from './sessions.ts';
import type { Snapshots } from './snapshots.ts';
import type { Storage } from './storage.ts';

/** Builds the goals of sessions, and the runner of their checks. */
export function buildGoals(
  base: Base,
  needs: { sessions: Sessions; processes: Processes; snapshots: Snapshots; storage: Storage },
) {
  const { processes, snapshots, storage } = needs;
  const { store: sessionStore, inbox, scheduler } = needs.sessions;
  const store = new GoalStore(base);
  const checks = new CheckRunner({
    ...base,
    store,
    sessionStore,
    inbox,
    processes: {
      run: (body, saveResponse) => processes.service.run(body, saveResponse),
      find: (rx, id) => processes.store.processes.get(rx, id),
      kill: (tx, id, reason) =>
        tx.whenDurable(() => processes.runner.kill(id, { status: 'killed', reason })),
      done: (id) => processes.runner.done(id),
      readTails: async (id) =>
        (await readPrinted((stream) => logPath(storage.logs, id, stream), NOTICE_TAIL)).tails,
    },
    hasChangedFiles: (turn) => snapshots.taker.hasChangedFiles(turn),
  });
  const service = new GoalService({ ...base, store, checks, sessionStore, inbox, scheduler });
  return { checks, service };
}
