import path from 'node:path';
import { withDataDirectory } from '../../../core/config/data-directory.ts';
import { agentVariables } from '../../../core/config/secrets.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import { agentNamed, nameOf } from '../../conversations/sessions/named-agent.ts';
import { GitContext } from '../../work/git/git-context.ts';
import { Git } from '../../work/git/git.ts';
import { ExitNotices } from '../../work/processes/notices.ts';
import { ProcessRunner } from '../../work/processes/runner.ts';
import { ProcessService } from '../../work/processes/service.ts';
import { ProcessStore } from '../../work/processes/store.ts';
import { MovedBranches } from '../../work/snapshots/moved-branches.ts';
import { SnapshotObjectStores } from '../../work/snapshots/object-stores.ts';
import { SnapshotService } from '../../work/snapshots/service.ts';
import { SnapshotRequests } from '../../work/snapshots/snapshot-requests.ts';
import { SnapshotStore } from '../../work/snapshots/store.ts';
import { SnapshotTaker } from '../../work/snapshots/taker.ts';
import { Claims } from '../../work/worktrees/claims.ts';
import { InitScripts } from '../../work/worktrees/init-scripts.ts';
import { WorktreeService } from '../../work/worktrees/service.ts';
import { SessionOpening } from '../../work/worktrees/session-opening.ts';
import type { WorktreeStore } from '../../work/worktrees/store.ts';
import { WorktreeRecovery } from '../../work/worktrees/worktree-recovery.ts';
import type { Base } from '../base.ts';
import type { Children } from './children.ts';
import type { Sessions } from './sessions.ts';
import type { Providers } from './providers.ts';
import type { Storage } from './storage.ts';

export type Processes = ReturnType<typeof buildProcesses>;

export function buildProcesses(
  base: Base,
  needs: { storage: Storage; children: Children; sessions: Sessions },
) {
  const { config } = base;
  const { sandbox, supervisor } = needs.children;
  const { inbox, store: sessionStore } = needs.sessions;
  const store = new ProcessStore(base);
  const notices = new ExitNotices({ inbox, store, sessionStore });
  const runner = new ProcessRunner({
    ...base,
    store,
    supervisor,
    directory: needs.storage.logs,
    settings: () => config.now.processes,
    secretVariables: () => agentVariables(config.now).map(([name]) => name),
    notices,
  });
  const service = new ProcessService({
    ...base,
    store,
    sessionStore,
    supervisor,
    sandbox,
    runner,
    settings: () => config.now.processes,
    assertRoom: needs.storage.assertRoom,
  });
  return { store, notices, runner, service };
}

export type Worktrees = ReturnType<typeof buildWorktrees>;

/** Builds worktrees, their claims and git. `stopping` ends every git process. */
export function buildWorktrees(
  base: Base,
  needs: {
    storage: Storage;
    children: Children;
    sessions: Sessions;
    processes: Processes;
    providers: Providers;
    store: WorktreeStore;
  },
) {
  const { config, directory, failpoint } = base;
  const { store } = needs;
  const { marker, supervisor, sandbox, keeper } = needs.children;
  const sessionStore = needs.sessions.store;
  const stopping = new AbortController();
  const claims = new Claims({ ...base, store, sessionStore });
  const git = new Git({ marker, signal: stopping.signal, keeper, sandbox });
  const initScripts = new InitScripts({
    ...base,
    git,
    sessionStore,
    worktrees: store,
    script: () => config.now.worktrees.init_script_path,
    agentName: (name) => nameOf(agentNamed(name, needs.providers.registry)),
  });
  const gitContext = withDataDirectory(
    directory,
    () =>
      new GitContext({
        git,
        root: config.now.worktrees.root_dir ?? path.join(directory, 'worktrees'),
        scratch: path.join(directory, 'scratch'),
        failpoint,
        isTrusted: (repoRoot, sha256) => initScripts.isTrusted(repoRoot, sha256),
      }),
  );
  const worktreeRecovery = new WorktreeRecovery({
    ...base,
    store,
    claims,
    sessionStore,
    gitContext,
  });
  const service = new WorktreeService({
    ...base,
    store,
    claims,
    sessionStore,
    processes: needs.processes.store,
    gitContext,
    supervisor,
    sandbox,
    settings: () => config.now.worktrees,
    initScripts,
    mutexes: new OneAtATime(),
    assertRoom: needs.storage.assertRoom,
    stopping: stopping.signal,
  });
  const opening = new SessionOpening({
    ...base,
    sessions: needs.sessions.service,
    sessionStore,
    worktrees: service,
    claims,
  });
  return {
    store,
    claims,
    git,
    gitContext,
    initScripts,
    worktreeRecovery,
    service,
    opening,
    stopping,
  };
}

/** Builds what reads the files of sessions, keeps them by turn, and writes them back. */
export function buildSnapshots(
  base: Base,
  needs: { children: Children; sessions: Sessions; worktrees: Worktrees },
) {
  const { config, directory } = base;
  const { gitContext } = needs.worktrees;
  const sessionStore = needs.sessions.store;
  const worktrees = needs.worktrees.store;
  const store = new SnapshotStore(base.db);
  const snapshotObjectStores = new SnapshotObjectStores({
    ...base,
    store,
    root: path.join(directory, 'snapshots'),
    settings: () => config.now.snapshots,
  });
  const taker = new SnapshotTaker({
    ...base,
    store,
    worktrees,
    gitContext,
    snapshotObjectStores,
    isEnabled: () => config.now.snapshots.enabled,
  });
  const requests = new SnapshotRequests({
    ...base,
    sessionStore,
    worktrees,
    gitContext,
    store,
    snapshotObjectStores,
  });
  const service = new SnapshotService({ ...base, sessionStore, store, taker, requests });
  const movedBranches = new MovedBranches({
    ...base,
    gitContext,
    isSandboxed: ({ id }) => needs.children.sandbox.filesOfAgent(id) !== undefined,
  });
  return { store, snapshotObjectStores, taker, service, movedBranches };
}
