import type { RecoverySummary } from '../../api/runtime.ts';
import { verifySessions } from '../maintenance/recovery/verify.ts';
import type { Base } from './base.ts';
import type { Components } from './build.ts';

/** Work that the last run left unfinished, done while requests are served already. None of the promises rejects. */
export interface Background {
  /** Worktrees that were made for sessions and never used are removed, and unfinished spawns ended. */
  spawns: Promise<void>;
  /** Worktrees whose last claim was released are cleaned up. */
  cleanups: Promise<void>;
  /** The machine is probed, and sandboxes of closed sessions are removed. */
  sandbox: Promise<void>;
  /** Messages to large teams are sent to the members that they have not reached. */
  broadcasts: Promise<void>;
  /** Sessions that their provider no longer has are marked as failed. */
  verification: Promise<void>;
  stopVerification(): void;
}

export function startBackground(
  base: Base,
  components: Components,
  summary: RecoverySummary,
): Background {
  const { sessions, teams } = components;
  components.providers.registry.lookAtLogins();
  const verifying = new AbortController();
  const orLog = (work: Promise<void>, message: string) =>
    work.catch((error: unknown) => base.logger.error({ err: error }, message));
  const background = {
    cleanups: orLog(components.worktrees.service.resumeCleanups(), 'a due cleanup failed'),
    spawns: orLog(undoUnfinished(components), 'cannot undo work that a crash interrupted'),
    sandbox: orLog(openSandbox(base, components), 'cannot prepare the sandbox'),
    broadcasts: orLog(teams.broadcasts.recover(), 'cannot resume unfinished broadcasts'),
  };
  const pending = base.db.peek((rx) => sessions.store.allPendingApprovals(rx));
  for (const approval of pending) sessions.broker.watchExpiry(approval);
  const verification = verifySessions({
    ...base,
    store: sessions.store,
    pool: sessions.pool,
    inbox: sessions.inbox,
    observer: sessions.observer,
    providers: components.providers.registry.all(),
    summary,
    signal: verifying.signal,
  });
  return {
    ...background,
    verification: orLog(verification, 'cannot verify sessions'),
    stopVerification: () => verifying.abort(),
  };
}

/** Probes the machine. A server that was killed may have left the directories of a closed session. */
async function openSandbox({ db }: Base, { children, sessions }: Components): Promise<void> {
  const statusOf = (id: string) => db.peek((rx) => sessions.store.sessions.get(rx, id)?.status);
  await children.sandbox.removeClosed((id) => (statusOf(id) ?? 'closed') !== 'closed');
  await children.sandbox.open();
}

async function undoUnfinished({ worktrees, teams }: Components): Promise<void> {
  await worktrees.service.undoUnused();
  await teams.spawns.undoUnfinished();
}
