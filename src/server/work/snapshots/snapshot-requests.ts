import type { Session } from '../../../api/sessions.ts';
import type { Moment } from '../../../api/snapshots.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { AppError, conflictError } from '../../../api/errors.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import { assertFiles } from '../git/foreign.ts';
import type { FiltersOf } from '../git/isolated-git-dir.ts';
import type { Git } from '../git/git.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { SessionStore } from '../../conversations/sessions/store.ts';
import type { GitContext } from '../git/git-context.ts';
import { asStorageFull } from '../git/git-failure.ts';
import { repositoryAt } from '../git/repository.ts';
import type { WorktreeStore } from '../worktrees/store.ts';
import { reasonOf } from '../worktrees/worktree.ts';
import { openTrees } from './files-now.ts';
import { type SessionCheckout, checkoutOfSession } from './session-checkout.ts';
import type { SnapshotObjectStores } from './object-stores.ts';
import { isTaken, type SnapshotStore, type StoredSnapshot, type Taken } from './store.ts';

/** The maximum time of a request, in milliseconds. */
const LIMIT_MS = 20_000;
/** The number of requests at once; the disk limits it. */
const AT_ONCE = 2;

export interface SnapshotDependencies extends Pick<ServerParts, 'db' | 'clock' | 'logger'> {
  store: SnapshotStore;
  sessionStore: SessionStore;
  worktrees: WorktreeStore;
  gitContext: GitContext;
  snapshotObjectStores: SnapshotObjectStores;
}

type Dependencies = Omit<SnapshotDependencies, 'logger'>;

/** The files of a session, and the tools to read them, during one request. */
export interface WorkContext {
  requests: SnapshotRequests;
  git: Git;
  session: Session;
  /** The worktree of the session; null: it has none of its own. */
  worktree: Worktree | null;
  /** Finds the checkout. Throws `conflict` if there is none. */
  checkout(): Promise<SessionCheckout>;
  filters: FiltersOf;
  /** An empty directory, which is removed afterwards. */
  scratch: string;
  /** Aborts when the request takes too long. */
  signal: AbortSignal;
}

/** Where requests about the files of sessions are worked on: a few at once, each within a time limit. */
export class SnapshotRequests {
  readonly #deps: Dependencies;
  readonly #lanes = new OneAtATime();
  #count = 0;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  now(): number {
    return this.#deps.clock.now();
  }

  /** Runs `work` for a session. Throws `not_found`, `storage_full`, and `conflict` if git fails or the time is over. */
  work<T>(sessionId: string, work: (work: WorkContext) => Promise<T>): Promise<T> {
    const { db, clock, sessionStore, worktrees, gitContext } = this.#deps;
    this.#count += 1;
    return this.#lanes.run(String(this.#count % AT_ONCE), async () => {
      // A turn may have begun while the request waited.
      const [session, worktree] = await db.read((rx) => {
        const found = sessionStore.session(rx, sessionId);
        const id = found.worktree_id;
        return [found, id === null ? null : worktrees.worktree(rx, id)] as const;
      });
      const late = new AbortController();
      using _ = clock.after(LIMIT_MS, () =>
        late.abort(new Error('the request exceeded its time limit')),
      );
      const { signal } = late;
      const git = gitContext.git.within(signal);
      let checkout: SessionCheckout | undefined;
      try {
        return await gitContext.withScratch(session, (scratch) =>
          work({
            requests: this,
            git,
            session,
            worktree,
            scratch,
            signal,
            async checkout() {
              checkout ??= await checkoutOfSession(git, session, worktree);
              return checkout;
            },
            filters: async (settings) =>
              checkout ? gitContext.filtersOf(checkout.repository)(settings) : [],
          }),
        );
      } catch (error) {
        throw await explained(error, checkout?.files ?? null, signal);
      }
    });
  }

  /** Returns a snapshot. Throws `not_found`, and `conflict` if it could not be taken. */
  snapshotAt(sessionId: string, turnId: string, moment: Moment): Taken {
    const { db, store } = this.#deps;
    return db.peek((rx) => store.at(rx, sessionId, turnId, moment));
  }

  /** Returns git that can read the trees of snapshots of one repository. */
  openSnapshots(
    { git, scratch }: WorkContext,
    snapshot: Taken,
    others: readonly StoredSnapshot[] = [],
  ): Promise<Git> {
    const alternates = this.objectPathsOf([snapshot, ...others]);
    return openTrees(repositoryAt(git, snapshot.repository), { scratch, alternates });
  }

  /** Returns the directories of the objects of snapshots. */
  objectPathsOf(snapshots: readonly StoredSnapshot[]): string[] {
    const objectStores = new Set(snapshots.map(({ depot }) => depot));
    return [...objectStores]
      .filter((objectStore) => objectStore !== null)
      .map((objectStore) => this.#deps.snapshotObjectStores.pathOf(objectStore));
  }

  /** Returns the snapshots of a session that were taken after one of them, oldest first. */
  snapshotsSince({ session_id, turn_id, moment }: Taken): StoredSnapshot[] {
    const { db, store } = this.#deps;
    const all = db.peek((rx) => store.of(rx, session_id));
    const at = all.findIndex((one) => one.turn_id === turn_id && one.moment === moment);
    return all.slice(at + 1);
  }

  /** Returns the snapshot of the beginning of the first turn of a session; null if there is none. */
  firstOf(sessionId: string): Taken | null {
    const { db, store, sessionStore } = this.#deps;
    return db.peek((rx) => {
      const oldest = { index: 'turns_session', where: 'session_id = ?', order: 'n' };
      const [turn] = sessionStore.turns.first(rx, oldest, 1, sessionId);
      const first = turn && store.find(rx, turn.turn_id, 'start');
      return first && isTaken(first) ? first : null;
    });
  }
}

/** Returns the error for the client instead of a failure of git, or of the end of the time. */
async function explained(
  error: unknown,
  files: string | null,
  signal: AbortSignal,
): Promise<unknown> {
  if (signal.aborted) {
    // Git waits for ever for a special file in the place of one that it reads; this names it.
    if (files !== null) await assertFiles(files);
    return conflictError(`reading the files of the session took longer than ${LIMIT_MS / 1000} s`, {
      cause: error,
    });
  }
  const reason = reasonOf(error);
  if (reason === null || error instanceof AppError) return error;
  const message = `cannot read or write the files of the session: ${reason}`;
  return asStorageFull(conflictError(message, { cause: error }));
}
