import path from 'node:path';
import type { Worktree } from '../../../api/worktrees.ts';
import { AppError, conflictError } from '../../../api/errors.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { type Git, toText } from '../git/git.ts';
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
 * Restores the files of a session to a snapshot. Files that git ignores stay, and so do the commit and the index. Throws
 * `conflict`, and changes nothing, if somebody else than the agent of the session may have changed a file since.
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
  const since = requests.snapshotsSince(snapshot);
  const { git, tree } = await readNow(place, checkout, [snapshot, ...since.filter(isTaken)]);
  const changes = await changesBetween({ git }, [tree, snapshot.tree]);
  await assertOfAgent(git, { snapshot, since, tree, changes });
  await assertWithoutLfs(git, changes);
  await checkOut(git, tree, snapshot.tree);
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

/** Throws `conflict` unless every change of the files happened within a turn. Any other change may have another author. */
async function assertOfAgent(
  git: Git,
  about: {
    snapshot: Taken;
    since: readonly StoredSnapshot[];
    tree: string;
    changes: readonly TreeChange[];
  },
): Promise<void> {
  const { snapshot, since, tree, changes } = about;
  const names = new Set(changes.map((one) => one.path));
  const unknown = since.find((one) => !isTaken(one));
  if (unknown)
    throw conflictError(
      `cannot restore the files, because the snapshot of the ${unknown.moment} of turn ${unknown.turn_id} is missing, so the origin of later changes is unknown`,
    );
  const taken = [snapshot, ...since.filter(isTaken)];
  for (const [at, one] of taken.entries()) {
    const next = taken[at + 1];
    if (next?.turn_id === one.turn_id) continue;
    const between = await changesBetween({ git }, [one.tree, next?.tree ?? tree]);
    const foreign = between.filter((change) => names.has(change.path));
    if (foreign.length > 0)
      throw conflictError(
        `cannot restore the files, because ${namesOf(foreign)} changed after turn ${one.turn_id}, but not by a turn of this session: restore single files with force`,
      );
  }
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
