import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Config } from '../../../core/config/schema.ts';
import type { Sandbox } from '../../../core/children/sandbox/sandbox.ts';
import type { Supervisor } from '../../../core/children/supervisor.ts';
import type { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import type { GitContext } from '../git/git-context.ts';
import type { ProcessStore } from '../processes/store.ts';
import type { Claims } from './claims.ts';
import type { InitScripts } from './init-scripts.ts';
import type { WorktreeStore } from './store.ts';

export interface WorktreeDependencies extends Pick<
  ServerParts,
  'db' | 'clock' | 'ids' | 'failpoint' | 'logger'
> {
  store: WorktreeStore;
  claims: Claims;
  sessionStore: SessionStore;
  processes: ProcessStore;
  gitContext: GitContext;
  supervisor: Supervisor;
  sandbox: Pick<Sandbox, 'planFor' | 'closeNetwork'>;
  initScripts: InitScripts;
  /** The mutexes of worktrees, by id, by name in a repository, and of the choice of ports. */
  mutexes: OneAtATime;
  settings: () => Config['worktrees'];
  /** Throws `storage_full` if there is no room for new work. */
  assertRoom: () => void;
  /** Aborts when the server stops and no step may continue. */
  stopping: AbortSignal;
}
