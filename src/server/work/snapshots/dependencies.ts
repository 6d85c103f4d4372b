import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import type { GitContext } from '../git/git-context.ts';
import type { WorktreeStore } from '../worktrees/store.ts';
import type { SnapshotObjectStores } from './object-stores.ts';
import type { SnapshotStore } from './store.ts';

/** The dependencies of everything that takes, reads and restores snapshots. */
export interface SnapshotDependencies extends Pick<ServerParts, 'db' | 'clock' | 'logger'> {
  store: SnapshotStore;
  sessionStore: SessionStore;
  worktrees: WorktreeStore;
  gitContext: GitContext;
  snapshotObjectStores: SnapshotObjectStores;
}
