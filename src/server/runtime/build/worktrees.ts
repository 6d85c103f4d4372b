import path from 'node:path';
import { Claims } from '../../work/worktrees/claims.ts';
import { Git } from '../../work/git/git.ts';
import { InitScripts } from '../../work/worktrees/init-scripts.ts';
import { SessionOpening } from '../../work/worktrees/session-opening.ts';
import { WorktreeRecovery } from '../../work/worktrees/worktree-recovery.ts';
import { WorktreeService } from '../../work/worktrees/service.ts';
import type { WorktreeStore } from '../../work/worktrees/store.ts';
import { GitContext } from '../../work/git/git-context.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import { withDataDirectory } from '../../../core/config/data-directory.ts';
import type { Base } from '../base.ts';
import type { Children } from './children.ts';
import type { Processes } from './processes.ts';
import type { Sessions } from './sessions.ts';
import type { Storage } from './storage.ts';

export type Worktrees = ReturnType<typeof buildWorktrees>;

/** Builds worktrees, their claims and git. `stopping` ends every git process. */
export function buildWorktrees(
  base: Base,
  needs: {
    storage: Storage;
    children: Children;
    sessions: Sessions;
    processes: Processes;
    store: WorktreeStore;
  },
) {
  const { config, directory, failpoint } = base;
  const { store } = needs;
  const { marker, supervisor, sandbox, keeper } = needs.children;
  const sessionStore = needs.sessions.store;
  const stopping = new AbortController();
  const claims = new Claims({ ...base, store, sessionStore });
  const git = new Git({ marker, signal: stopping.signal, keeper });
  const initScripts = new InitScripts({
    ...base,
    git,
    sessionStore,
    worktrees: store,
    script: () => config.now.worktrees.init_script_path,
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
