import path from 'node:path';
import type { Session } from '../../../api/sessions.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { AppError, conflictError } from '../../../api/errors.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { type Git, nulTerminated, toText } from '../git/git.ts';
import { changesBetween, type TreeChange } from '../git/changes.ts';
import { readFilesNow } from './files-now.ts';
import { checkoutOfSession, type SessionCheckout } from './session-checkout.ts';
import type { WorkContext } from './snapshot-requests.ts';
import { isTaken, type StoredSnapshot, type Taken } from './store.ts';

/** The beginning of a file whose content Git LFS stores, and the maximum size of such a file, in bytes. */
const LFS = 'version https://git-lfs.github.com/spec/';
const LFS_BYTES = 1024;
/** The maximum number of files that an error names. */
const NAMED = 3;

/** Writes the files of a snapshot into a new worktree, which has the commit of the snapshot. Throws `conflict`. */
export async function writeSnapshot(
  place: WorkContext,
  worktree: Worktree,
  snapshot: Taken,
): Promise<void> {
  const { path: cwd } = worktree;
  const checkout = await checkoutOfSession(place.git, { ...place.session, cwd }, worktree);
  const { git, tree } = await readNow(place, checkout, [snapshot]);
  await checkOut(git, tree, snapshot.tree);
}

/**
 * Restores the files that turns of a session have changed since a snapshot. Other files stay, and so do the commit and the
 * index. Throws `conflict`, and changes nothing, if somebody else may have changed one of the files too.
 */
export async function restoreSnapshot(place: WorkContext, snapshot: Taken): Promise<void> {
  const { requests, session } = place;
  if (session.active_turn_id !== null)
    throw new AppError(
      'turn_in_progress',
      `turn ${session.active_turn_id} of session ${session.id} is still running`,
    );
  const checkout = await place.checkout();
  if (checkout.files !== snapshot.root || checkout.repository.commonDir !== snapshot.repository)
    throw conflictError(
      `the session now works in directory ${checkout.files}, but the snapshot is of ${snapshot.root}`,
    );
  const since = takenSince(session, snapshot, requests.snapshotsSince(snapshot));
  const { git, tree } = await readNow(place, checkout, since);
  const changes = await changesOfTurns(git, since, { tree, snapshot });
  if (changes.length === 0) return;
  await assertWithoutLfs(git, changes);
  const zeros = '0'.repeat(tree.length);
  const entries = changes.map(
    (one) => `${one.new_mode ?? '0'} ${one.new_blob ?? zeros}\t${one.path}`,
  );
  await git.text(['update-index', '-z', '--index-info'], nulTerminated(entries));
  const wanted = await git.text(['write-tree']);
  await git.text(['read-tree', tree]);
  await checkOut(git, tree, wanted);
}

/** Returns a snapshot and all later ones of a session. Throws `conflict` unless the newest turn has its snapshots too. */
function takenSince(
  { id, last_turn_id: last }: Session,
  snapshot: Taken,
  later: readonly StoredSnapshot[],
): Taken[] {
  const missing = later.find((one) => !isTaken(one))?.turn_id;
  const newest = later.at(-1) ?? snapshot;
  const isWhole = newest.turn_id === last && newest.moment === 'end';
  if (missing === undefined && isWhole) return [snapshot, ...later.filter(isTaken)];
  throw conflictError(
    `cannot restore the files, because a snapshot of turn ${missing ?? last ?? ''} of session ${id} is missing, so the origin of later changes is unknown`,
  );
}

/**
 * Returns what restores the files that changed within turns, from the start to the end of each. Throws `conflict` if one of
 * them changed between turns too: that change may have another author.
 */
async function changesOfTurns(
  git: Git,
  since: readonly Taken[],
  { tree, snapshot }: { tree: string; snapshot: Taken },
): Promise<TreeChange[]> {
  const [ofTurns, others] = [new Set<string>(), new Set<string>()];
  for (const [at, one] of since.entries()) {
    const next = since[at + 1];
    const names = next?.turn_id === one.turn_id ? ofTurns : others;
    const changes = await changesBetween({ git }, [one.tree, next?.tree ?? tree]);
    for (const change of changes) names.add(change.path);
  }
  const changes = await changesBetween({ git }, [tree, snapshot.tree]);
  const restored = changes.filter((change) => ofTurns.has(change.path));
  const foreign = restored.filter((change) => others.has(change.path));
  if (foreign.length === 0) return restored;
  throw conflictError(
    `cannot restore the files, because ${namesOf(foreign)} changed between turns too: restore single files with force`,
  );
}

/** Reads the files as they are, as a tree. The returned git also reads the trees of snapshots. */
async function readNow(
  place: WorkContext,
  checkout: SessionCheckout,
  snapshots: readonly Taken[],
): Promise<{ git: Git; tree: string }> {
  const objects = path.join(place.scratch, 'now');
  const depots = new Set(snapshots.map(({ depot }) => depot));
  const lent = [...depots].map((depot) => place.requests.snapshotObjectStores.pathOf(depot));
  const { filters, scratch, signal } = place;
  const now = await readFilesNow(checkout, { scratch, objects, lent, filters, signal });
  if (now.isCut)
    throw conflictError('cannot restore the files, because too many files have changed');
  return now;
}

/** Makes the files of a tree those of another one. Git refuses if a file differs from the first tree. */
async function checkOut(git: Git, from: string, to: string): Promise<void> {
  await git.maybe(['update-index', '-q', '--really-refresh']);
  await git.text(['read-tree', '-m', '-u', from, to]);
}

function namesOf(changes: readonly TreeChange[]): string {
  const names = changes.slice(0, NAMED).map((one) => oneLine(toText(one.path)));
  const more = changes.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}

/** Throws `conflict` for a file whose content is not in the repository. */
async function assertWithoutLfs(git: Git, changes: readonly TreeChange[]): Promise<void> {
  const blobs = changes.flatMap((one) =>
    one.new_blob === null || one.new_mode === '160000' ? [] : [[one.new_blob, one] as const],
  );
  if (blobs.length === 0) return;
  const check = ['cat-file', '--batch-check=%(objectsize)'];
  const sizes = (await git.text(check, blobs.map(([blob]) => `${blob}\n`).join(''))).split('\n');
  for (const [at, [blob, change]] of blobs.entries()) {
    if (Number(sizes[at]) > LFS_BYTES) continue;
    if ((await git.bytes(['cat-file', 'blob', blob])).startsWith(LFS))
      throw conflictError(
        `cannot restore the files, because Git LFS stores the content of ${oneLine(toText(change.path))}: restore the files with git`,
      );
  }
}
