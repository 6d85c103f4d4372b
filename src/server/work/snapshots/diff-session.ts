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

/**
 * Returns the changes in the checkout of a session, which is only read: nothing of the repository runs. Throws
 * `not_found`, also for a snapshot, and `conflict` if git cannot compare.
 */
export function diffSession(
  requests: SnapshotRequests,
  sessionId: string,
  query: Query,
): Promise<SessionDiff> {
  return requests.work(sessionId, async (place) => {
    const { git, signal } = place;
    const taken_at = requests.now();
    const pair = await (query.at === undefined
      ? untilNow(requests, place, query)
      : untilTurn(requests, place, query.at, query.since ?? query.at));
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

/** Compares a snapshot or a commit with the files as they are. */
async function untilNow(
  requests: SnapshotRequests,
  place: WorkContext,
  query: Query,
): Promise<Pair> {
  const { git, scratch, signal, filters } = place;
  const start = startOf(requests, place, query);
  const checkout = await place.checkout();
  const now = await readFilesNow(git, checkout, {
    scratch,
    objects: path.join(scratch, 'objects'),
    lent: start === null ? [] : [requests.snapshotObjectStores.pathOf(start.depot)],
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

/** Returns the snapshot that the files are compared with; null if that is a commit. */
function startOf(
  requests: SnapshotRequests,
  { session, worktree }: WorkContext,
  { since, against }: Query,
): Taken | null {
  if (since !== undefined) return requests.snapshotAt(session.id, since, 'start');
  return against === 'start' && worktree === null ? requests.firstOf(session.id) : null;
}

/** Compares the beginning of one turn with the end of another. */
async function untilTurn(
  requests: SnapshotRequests,
  { git, scratch, session }: WorkContext,
  at: string,
  since: string,
): Promise<Pair> {
  const start = requests.snapshotAt(session.id, since, 'start');
  const end = requests.snapshotAt(session.id, at, 'end');
  const repository = { root: '', commonDir: end.repository };
  const lent = [start, end].map(({ depot }) => requests.snapshotObjectStores.pathOf(depot));
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

function turnBase({ turn_id, head_commit }: Taken): DiffBase {
  return { kind: 'turn', commit: head_commit, turn_id };
}

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
