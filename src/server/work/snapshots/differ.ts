import path from 'node:path';
import type { QueryOf } from '../../../api/endpoint.ts';
import type { DiffBase, getSessionDiff, LeftOut, SessionDiff } from '../../../api/diffs.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import type { Git, GitLocation } from '../git/git.ts';
import { commitOf, refsOf, type Repository } from '../git/repository.ts';
import type { SessionCheckout } from './session-checkout.ts';
import { compareTrees } from './compare.ts';
import { openTrees, readFilesNow } from './files-now.ts';
import type { SnapshotRequests, WorkContext } from './snapshot-requests.ts';
import type { Taken } from './store.ts';

/** How many entries of `left_out` are listed. */
const LISTED = 100;

type Query = QueryOf<typeof getSessionDiff>;

/** Two trees, where they can be read, and what they are. */
interface Pair {
  location: GitLocation;
  before: string;
  after: string;
  base: DiffBase;
  root: string;
  head: string | null;
  leftOut: readonly LeftOut[];
  isCut: boolean;
}

/** Compares the files of sessions with where they began. Everything is read only; nothing of a repository is run. */
export class Differ {
  readonly #requests: SnapshotRequests;

  constructor(requests: SnapshotRequests) {
    this.#requests = requests;
  }

  /**
   * Returns what changed in the checkout of a session. Throws `not_found`, also for a snapshot, and `conflict` if
   * something cannot be compared.
   */
  diff(sessionId: string, query: Query): Promise<SessionDiff> {
    return this.#requests.work(sessionId, async (place) => {
      const { git, signal } = place;
      const taken_at = this.#requests.now();
      const pair = await (query.at === undefined
        ? this.#untilNow(place, query)
        : this.#untilTurn(place, query.at, query.since ?? query.at));
      const compared = await compareTrees(git, pair.location, [pair.before, pair.after], {
        paths: query.path,
        stat: query.stat,
        exact: query.exact,
        signal,
      });
      return {
        session_id: sessionId,
        root: pair.root,
        base: pair.base,
        head_commit: pair.head,
        taken_at,
        ...compared,
        is_cut: compared.is_cut || pair.isCut,
        left_out: pair.leftOut.slice(0, LISTED),
        left_out_count: pair.leftOut.length,
      };
    });
  }

  /** From a snapshot or a commit to the files as they are. */
  async #untilNow(place: WorkContext, query: Query): Promise<Pair> {
    const { git, scratch, signal, filters } = place;
    const start = this.#startOf(place, query);
    const checkout = await place.checkout();
    const now = await readFilesNow(git, checkout, {
      scratch,
      objects: path.join(scratch, 'objects'),
      lent: start === null ? [] : [this.#requests.snapshotObjectStores.pathOf(start.depot)],
      filters,
      signal,
    });
    const base = start === null ? await commitBase(place, checkout, query) : turnBase(start);
    const { location, tree: after } = now;
    return {
      location,
      before: start?.tree ?? base.commit ?? (await emptyTree(place, location)),
      after,
      base,
      root: checkout.files,
      head: checkout.head,
      leftOut: now.leftOut,
      isCut: now.isCut || now.leftOut.length > 0,
    };
  }

  /** From the beginning of one turn to the end of another. */
  async #untilTurn(place: WorkContext, at: string, since: string): Promise<Pair> {
    const { git, scratch, session } = place;
    const { snapshotObjectStores } = this.#requests;
    const start = this.#requests.snapshotAt(session.id, since, 'start');
    const end = this.#requests.snapshotAt(session.id, at, 'end');
    const repository = { root: '', commonDir: end.repository };
    const lent = [snapshotObjectStores.pathOf(start.depot), snapshotObjectStores.pathOf(end.depot)];
    return {
      location: await openTrees(git, repository, { scratch, lent }),
      before: start.tree,
      after: end.tree,
      base: turnBase(start),
      root: end.root ?? '',
      head: end.head_commit,
      leftOut: [],
      isCut: !(start.is_whole && end.is_whole),
    };
  }

  /** Returns the snapshot that the files are compared with; null: with a commit. */
  #startOf({ session, worktree }: WorkContext, { since, against }: Query): Taken | null {
    if (since !== undefined) return this.#requests.snapshotAt(session.id, since, 'start');
    return against === 'start' && worktree === null ? this.#requests.firstOf(session.id) : null;
  }
}

function turnBase({ turn_id, head_commit }: Taken): DiffBase {
  return { kind: 'turn', commit: head_commit, turn_id };
}

/** Chooses the commit that the files of a session are compared with. */
async function commitBase(
  { git, session, worktree }: WorkContext,
  { repository, gitDir, head }: SessionCheckout,
  { against }: Query,
): Promise<DiffBase> {
  if (against === 'head') return { kind: 'head', commit: head, turn_id: null };
  if (worktree !== null) {
    const commit = await worktreeBase(git, repository, worktree, head);
    return { kind: 'worktree', commit, turn_id: null };
  }
  const location = { directory: repository.commonDir, gitDir: gitDir };
  // The log of HEAD knows what was checked out at a time, in seconds.
  const at = `HEAD@{${Math.floor(session.created_at / 1000)} +0000}`;
  const commit = head === null ? null : await commitOf(git, location, at);
  if (commit !== null) return { kind: 'session', commit, turn_id: null };
  return { kind: 'head', commit: head, turn_id: null };
}

/**
 * Returns the last commit that a worktree shares with the branch at which it began, so that what came from there by a
 * merge or a rebase is not taken for the work of the session; where that is older than its own beginning, or the branch is
 * gone, its own beginning.
 */
async function worktreeBase(
  git: Git,
  repository: Repository,
  { base_ref, base_commit }: Worktree,
  head: string | null,
): Promise<string> {
  if (head === null) return base_commit;
  const location = refsOf(repository);
  const branch = `refs/heads/${base_ref.replace(/^refs\/heads\//, '')}`;
  const shared = await git.maybe(location, ['merge-base', head, branch]);
  if (shared === null || shared === base_commit) return base_commit;
  const isLater = ['merge-base', '--is-ancestor', base_commit, shared];
  return (await git.maybe(location, isLater)) === null ? base_commit : shared;
}

function emptyTree({ git, signal }: WorkContext, location: GitLocation): Promise<string> {
  return git.text(location, ['hash-object', '-w', '-t', 'tree', '--stdin'], '', signal);
}
