import path from 'node:path';
import type { QueryOf } from '../../../api/endpoint.ts';
import type { DiffBase, getSessionDiff, SkippedFile, SessionDiff } from '../../../api/diffs.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import type { Git } from '../git/git.ts';
import { commitOf, contains, type Repository } from '../git/repository.ts';
import type { SessionCheckout } from './session-checkout.ts';
import { compareTrees } from './compare.ts';
import { readFilesNow } from './files-now.ts';
import type { WorkContext } from './snapshot-requests.ts';
import type { Taken } from './store.ts';

const LISTED = 100;

type Query = QueryOf<typeof getSessionDiff>;

/** Two trees, where they can be read, and what they are. */
interface Pair {
  git: Git;
  before: string;
  after: string;
  base: DiffBase;
  root: string;
  head: string | null;
  leftOut: readonly SkippedFile[];
  isCut: boolean;
}

/**
 * Returns the changes in the checkout of a session, which is only read: nothing of the repository runs. Throws
 * `not_found`, also for a snapshot, and `conflict` if git cannot compare.
 */
export async function diffSession(work: WorkContext, query: Query): Promise<SessionDiff> {
  const taken_at = work.requests.now();
  const pair = await (query.at === undefined
    ? untilNow(work, query)
    : untilTurn(work, query.at, query.since ?? query.at));
  const { path: paths, stat, exact } = query;
  const trees = [pair.before, pair.after] as const;
  const compared = await compareTrees(pair.git, trees, { paths, stat, exact });
  return {
    session_id: work.session.id,
    root: pair.root,
    base: pair.base,
    head_commit: pair.head,
    taken_at,
    ...compared,
    is_cut: compared.is_cut || pair.isCut,
    left_out: pair.leftOut.slice(0, LISTED),
    left_out_count: pair.leftOut.length,
  };
}

/** Compares a snapshot or a commit with the files as they are. */
async function untilNow(work: WorkContext, query: Query): Promise<Pair> {
  const start = startOf(work, query);
  const checkout = await work.checkout();
  const now = await readFilesNow(checkout, {
    ...work,
    objects: path.join(work.scratch, 'objects'),
    alternates: work.requests.objectPathsOf(start === null ? [] : [start]),
  });
  const base = start === null ? await commitBase(work, checkout, query) : turnBase(start);
  return {
    git: now.git,
    before: start?.tree ?? base.commit ?? (await emptyTree(now.git)),
    after: now.tree,
    base,
    root: checkout.files,
    head: checkout.head,
    leftOut: now.leftOut,
    isCut: now.isCut || now.leftOut.length > 0,
  };
}

/** Returns the snapshot that the files are compared with; null if that is a commit. */
function startOf(
  { requests, session, worktree }: WorkContext,
  { since, against }: Query,
): Taken | null {
  if (since !== undefined) return requests.snapshotAt(session.id, since, 'start');
  return against === 'start' && worktree === null ? requests.firstOf(session.id) : null;
}

/** Compares the beginning of one turn with the end of another. */
async function untilTurn(work: WorkContext, at: string, since: string): Promise<Pair> {
  const { requests, session } = work;
  const start = requests.snapshotAt(session.id, since, 'start');
  const end = requests.snapshotAt(session.id, at, 'end');
  return {
    git: await requests.openSnapshots(work, end, [start]),
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
  { session, worktree }: WorkContext,
  { repository, git, head }: SessionCheckout,
  { against }: Query,
): Promise<DiffBase> {
  if (against === 'head') return { kind: 'head', commit: head, turn_id: null };
  if (worktree !== null) {
    const commit = await worktreeBase(repository, worktree, head);
    return { kind: 'worktree', commit, turn_id: null };
  }
  // The log of HEAD knows what was checked out at a time, in seconds.
  const at = `HEAD@{${Math.floor(session.created_at / 1000)} +0000}`;
  const commit = head === null ? null : await commitOf(git, at);
  if (commit !== null) return { kind: 'session', commit, turn_id: null };
  return { kind: 'head', commit: head, turn_id: null };
}

/**
 * Returns the last commit that a worktree shares with the branch at which it began, so that what came from there by a
 * merge or a rebase is not taken for the work of the session; where that is older than its own beginning, or the branch is
 * gone, its own beginning.
 */
async function worktreeBase(
  repository: Repository,
  { base_ref, base_commit }: Worktree,
  head: string | null,
): Promise<string> {
  if (head === null) return base_commit;
  const branch = `refs/heads/${base_ref.replace(/^refs\/heads\//, '')}`;
  const shared = await repository.git.maybe(['merge-base', head, branch]);
  if (shared === null || shared === base_commit) return base_commit;
  return (await contains(repository, shared, base_commit)) ? shared : base_commit;
}

function emptyTree(git: Git): Promise<string> {
  return git.text(['hash-object', '-w', '-t', 'tree', '--stdin'], '');
}
