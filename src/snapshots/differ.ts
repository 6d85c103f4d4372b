import path from 'node:path';
import type { QueryOf } from '../api/endpoint.ts';
import type { DiffBase, getSessionDiff, SessionDiff } from '../api/diffs.ts';
import type { Session } from '../api/sessions.ts';
import type { Worktree } from '../api/worktrees.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { OneAtATime } from '../lib/one-at-a-time.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Database } from '../store/database.ts';
import { assertFiles } from '../worktrees/foreign.ts';
import { type Git, GitFailure } from '../worktrees/git.ts';
import { commitOf } from '../worktrees/repository.ts';
import type { WorktreeStore } from '../worktrees/store.ts';
import type { Workshop } from '../worktrees/workshop.ts';
import { type Checkout, checkoutOfSession } from './checkout.ts';
import { compareTrees } from './compare.ts';
import { readFilesNow } from './files-now.ts';

/** The maximum time for a diff, in milliseconds. */
const LIMIT_MS = 20_000;
/** How many diffs are made at once; the disk limits them. */
const AT_ONCE = 2;
/** How many entries of `left_out` are listed. */
const LISTED = 100;

interface Dependencies {
  db: Database;
  clock: Clock;
  sessionStore: SessionStore;
  worktrees: WorktreeStore;
  workshop: Workshop;
}

/** Compares the files of sessions with where they began. Everything is read only; nothing of a repository is run. */
export class Differ {
  readonly #given: Dependencies;
  readonly #lanes = new OneAtATime();
  #count = 0;

  constructor(given: Dependencies) {
    this.#given = given;
  }

  /** Returns what changed in the checkout of a session. Throws `not_found`, and `conflict` if it cannot be compared. */
  async diff(sessionId: string, query: QueryOf<typeof getSessionDiff>): Promise<SessionDiff> {
    const { db, clock, sessionStore, worktrees, workshop } = this.#given;
    const [session, worktree] = await db.read((rx) => {
      const found = sessionStore.session(rx, sessionId);
      const id = found.worktree_id;
      return [found, id === null ? null : worktrees.worktree(rx, id)] as const;
    });
    this.#count += 1;
    return this.#lanes.run(String(this.#count % AT_ONCE), async () => {
      const checkout = await checkoutOfSession(workshop.git, session, worktree);
      const late = new AbortController();
      using _ = clock.after(LIMIT_MS, () => late.abort(new Error('it took too long')));
      const { signal } = late;
      try {
        return await this.#compare(session, worktree, checkout, { query, signal });
      } catch (error) {
        return await this.#explain(error, checkout, signal);
      }
    });
  }

  async #compare(
    session: Session,
    worktree: Worktree | null,
    checkout: Checkout,
    { query, signal }: { query: QueryOf<typeof getSessionDiff>; signal: AbortSignal },
  ): Promise<SessionDiff> {
    const { clock, workshop } = this.#given;
    const { git } = workshop;
    const { repository, head } = checkout;
    const base = await baseOf(git, session, worktree, checkout, query.against);
    return workshop.withScratch(session, async (scratch) => {
      const taken_at = clock.now();
      const now = await readFilesNow(git, checkout, {
        scratch,
        objects: path.join(scratch, 'objects'),
        filters: (settings) => workshop.trustedFilters(repository, settings),
        signal,
      });
      const before = base.commit ?? (await emptyTree(git, now.location));
      const trees = [before, now.tree] as const;
      const compared = await compareTrees(git, now.location, trees, {
        paths: query.path,
        stat: query.stat,
        signal,
      });
      return {
        session_id: session.id,
        root: checkout.files,
        base,
        head_commit: head,
        taken_at,
        ...compared,
        is_cut: compared.is_cut || now.isCut || now.leftOut.length > 0,
        left_out: now.leftOut.slice(0, LISTED),
        left_out_count: now.leftOut.length,
      };
    });
  }

  async #explain(error: unknown, { files }: Checkout, signal: AbortSignal): Promise<never> {
    if (signal.aborted) {
      // Git waits for ever for a special file in the place of one that it reads; this names it.
      await assertFiles(files);
      throw new AppError(
        'conflict',
        `reading the changes of ${files} took longer than ${LIMIT_MS / 1000} s`,
        { cause: error },
      );
    }
    if (!(error instanceof GitFailure)) throw error;
    throw new AppError('conflict', `${files} could not be compared: ${error.message}`, {
      cause: error,
    });
  }
}

/** Chooses what the files of a session are compared with. */
async function baseOf(
  git: Git,
  session: Session,
  worktree: Worktree | null,
  { repository, adminDir, head }: Checkout,
  against: 'start' | 'head',
): Promise<DiffBase> {
  if (against === 'head') return { kind: 'head', commit: head, turn_id: null };
  if (worktree !== null) return { kind: 'worktree', commit: worktree.base_commit, turn_id: null };
  const location = { directory: repository.commonDir, gitDir: adminDir };
  // The log of HEAD knows what was checked out at a time, in seconds.
  const at = `HEAD@{${Math.floor(session.created_at / 1000)} +0000}`;
  const commit = head === null ? null : await commitOf(git, location, at);
  if (commit !== null) return { kind: 'session', commit, turn_id: null };
  return { kind: 'head', commit: head, turn_id: null };
}

function emptyTree(git: Git, location: Parameters<Git['text']>[0]): Promise<string> {
  return git.text(location, ['hash-object', '-w', '-t', 'tree', '--stdin'], '');
}
