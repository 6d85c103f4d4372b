import { Differ } from '../../snapshots/differ.ts';
import type { Base } from '../base.ts';
import type { Sessions } from './sessions.ts';
import type { Worktrees } from './worktrees.ts';

export type Snapshots = ReturnType<typeof buildSnapshots>;

/** Builds what reads the files of sessions. */
export function buildSnapshots(
  base: Base,
  { sessions, worktrees }: { sessions: Sessions; worktrees: Worktrees },
) {
  const differ = new Differ({
    ...base,
    sessionStore: sessions.store,
    worktrees: worktrees.store,
    workshop: worktrees.workshop,
  });
  return { differ };
}
