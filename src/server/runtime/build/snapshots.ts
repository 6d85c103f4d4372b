import path from 'node:path';
import { SnapshotObjectStores } from '../../work/snapshots/object-stores.ts';
import { SnapshotRequests } from '../../work/snapshots/snapshot-requests.ts';
import { SnapshotService } from '../../work/snapshots/service.ts';
import { SnapshotStore } from '../../work/snapshots/store.ts';
import { SnapshotTaker } from '../../work/snapshots/taker.ts';
import type { Base } from '../base.ts';
import type { Sessions } from './sessions.ts';
import type { Worktrees } from './worktrees.ts';

export type Snapshots = ReturnType<typeof buildSnapshots>;

/** Builds what reads the files of sessions, keeps them by turn, and writes them back. */
export function buildSnapshots(base: Base, needs: { sessions: Sessions; worktrees: Worktrees }) {
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
  return { store, snapshotObjectStores, taker, service };
}
