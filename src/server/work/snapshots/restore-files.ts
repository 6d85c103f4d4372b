import path from 'node:path';
import type { BodyOf, ResponseOf } from '../../../api/endpoint.ts';
import type { restoreFile } from '../../../api/snapshots.ts';
import { AppError, conflictError, invalidError } from '../../../api/errors.ts';
import {
  type ForeignEntry,
  NotReplaced,
  readForeignEntry,
  replaceForeignFile,
} from '../../../core/lib/replace-foreign-file.ts';
import type { Session } from '../../../api/sessions.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { shortNameList } from '../../../core/lib/short-name-list.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { changesBetween, type TreeChange } from '../git/changes.ts';
import { type Git, nulTerminated, toText } from '../git/git.ts';
import { blobHash } from '../git/private-copies.ts';
import { readFilesNow } from './files-now.ts';
import { checkoutOfSession, type SessionCheckout } from './session-checkout.ts';
import type { WorkContext } from './snapshot-requests.ts';
import { blobsAt, contentAt, entryAt, LFS } from './tree.ts';
import { isTaken, type StoredSnapshot, type Taken } from './store.ts';

/** The maximum size of a file that is restored, or replaced by one, in bytes. */
const MAX_BYTES = 32 * 1024 * 1024;
/** The maximum size of a file whose content Git LFS stores, in bytes. */
const LFS_BYTES = 1024;
/** The maximum number of files that an error names. */
const NAMED = 3;

/**
 * Restores a file. Throws `conflict`, and changes nothing, if something other than the session's agent may have changed the
 * file since the snapshot. With `force`, the current file is kept under another name instead.
 */
export async function restoreSessionFile(
  work: WorkContext,
  { file, turn_id, moment, force }: BodyOf<typeof restoreFile>,
): Promise<ResponseOf<typeof restoreFile>> {
  const { requests, session } = work;
  const name = relativeName(file);
  const { id: session_id } = session;
  assertIdle(session);
  const target = requests.snapshotAt(session_id, turn_id, moment);
  const checkout = await checkoutOf(work, target);
  const { files } = checkout;
  const since = requests.snapshotsSince(target);
  const git = await requests.openSnapshots(work, target, since);
  const entry = await entryAt(git, target.tree, name);
  const content = await contentAt(work, checkout, git, entry);
  const wanted: ForeignEntry = {
    kind: entry.mode === '120000' ? 'link' : 'file',
    content,
    isExecutable: entry.mode === '100755',
  };
  const found = await readForeignEntry(files, name, MAX_BYTES).catch(refused);
  if (found === 'other')
    throw conflictError(
      `cannot replace ${name}, because it is not a regular file of at most ${MAX_BYTES / 1024 / 1024} MiB: move the file to another place`,
    );
  const answer = { session_id, path: name, turn_id, moment };
  if (isSame(found, wanted)) return { ...answer, changed: false, kept_as: null };
  if (!force) await assertOfAgent(git, { name, found, since, target });
  // The file may change until it is replaced.
  const kept_as = await replaceForeignFile(files, name, {
    entry: wanted,
    mayReplace: (now) => force || isSame(now, found),
    keeps: force && found !== null,
    maxBytes: MAX_BYTES,
  }).catch(refused);
  return { ...answer, changed: true, kept_as };
}

function assertIdle({ id, active_turn_id: active }: Session): void {
  if (active !== null)
    throw new AppError('turn_in_progress', `turn ${active} of session ${id} is still running`);
}

/** Resolves with the checkout of a session. Throws `conflict` if the snapshot is of another one. */
async function checkoutOf(work: WorkContext, snapshot: Taken): Promise<SessionCheckout> {
  const checkout = await work.checkout();
  const { files, repository } = checkout;
  if (files === snapshot.root && repository.commonDir === snapshot.repository) return checkout;
  throw conflictError(
    `the session now works in directory ${files}, but the snapshot is of ${snapshot.root}`,
  );
}

/**
 * Throws `conflict` unless every change of the file since a snapshot happened within a turn: from its start to its
 * end. Any other change may have another author.
 */
async function assertOfAgent(
  git: Git,
  about: {
    name: string;
    found: ForeignEntry | null;
    since: readonly StoredSnapshot[];
    target: Taken;
  },
): Promise<void> {
  const { name, found, since, target } = about;
  const unknown = since.find((one) => !isTaken(one));
  if (unknown)
    throw notOfAgent(
      `the snapshot of the ${unknown.moment} of turn ${unknown.turn_id} is missing, so the origin of later changes to ${name} is unknown`,
    );
  const taken = [target, ...since.filter(isTaken)];
  const blobs = await blobsAt(git, taken, name);
  for (const [at, one] of taken.entries()) {
    const next = taken[at + 1];
    const isWithinTurn = next?.turn_id === one.turn_id;
    if (isWithinTurn) continue;
    const after = next ? blobs[at + 1] : blobOf(found, target.tree.length);
    if (after === blobs[at]) continue;
    const when = next ? `before turn ${next.turn_id}` : 'and now';
    throw notOfAgent(
      `${name} was changed between the ${one.moment} of turn ${one.turn_id} ${when}, but not by a turn of this session`,
    );
  }
}

function notOfAgent(why: string): AppError {
  return conflictError(
    `cannot restore the file, because ${why}: use force to replace the file and keep a copy`,
  );
}

/** Returns a path in the form of git. Throws `invalid` for one that leads elsewhere or into git's own directory. */
function relativeName(name: string): string {
  const steps = name.split('/');
  const isOutside = path.isAbsolute(name) || steps.some((one) => ['', '.', '..'].includes(one));
  const isOfGit = steps.some((one) => one.toLowerCase() === '.git');
  if (isOutside || isOfGit || /\p{Cc}/u.test(name))
    throw invalidError(`file "${name}" is not a file path relative to the root of the checkout`);
  return name;
}

function isSame(one: ForeignEntry | null, other: ForeignEntry | null): boolean {
  if (one === null || other === null) return one === other;
  return (
    one.kind === other.kind &&
    one.isExecutable === other.isExecutable &&
    one.content.equals(other.content)
  );
}

/** Returns git's id of a content, with the hash function of ids of that length. Null if the file does not exist. */
function blobOf(entry: ForeignEntry | null, characters: number): string | null {
  if (entry === null) return null;
  return blobHash(entry.content.length, characters).update(entry.content).digest('hex');
}

function refused(error: unknown): never {
  if (!(error instanceof NotReplaced)) throw error;
  throw conflictError(
    `cannot replace the file, so nothing was changed (${error.message}): try again`,
    { cause: error, isTemporary: true },
  );
}

/** Writes the files of a snapshot into a new worktree, which has the commit of the snapshot. Throws `conflict`. */
export async function writeSnapshot(
  work: WorkContext,
  worktree: Worktree,
  snapshot: Taken,
): Promise<void> {
  const { path: cwd } = worktree;
  const checkout = await checkoutOfSession(work.git, { ...work.session, cwd }, worktree);
  const { git, tree } = await readNow(work, checkout, [snapshot]);
  await checkOut(git, tree, snapshot.tree);
}

/**
 * Restores the files that turns of a session have changed since a snapshot. Other files stay, and so do the commit and the
 * index. Throws `conflict`, and changes nothing, if somebody else may have changed one of the files too.
 */
export async function restoreSnapshot(work: WorkContext, snapshot: Taken): Promise<void> {
  const { requests, session } = work;
  assertIdle(session);
  const checkout = await checkoutOf(work, snapshot);
  const since = takenSince(session, snapshot, requests.snapshotsSince(snapshot));
  const { git, tree } = await readNow(work, checkout, since);
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
  work: WorkContext,
  checkout: SessionCheckout,
  snapshots: readonly Taken[],
): Promise<{ git: Git; tree: string }> {
  const objects = path.join(work.scratch, 'now');
  const alternates = work.requests.objectPathsOf(snapshots);
  const { filters, scratch, signal } = work;
  const now = await readFilesNow(checkout, { scratch, objects, alternates, filters, signal });
  if (now.isCut)
    throw conflictError('cannot restore the files, because too many files have changed');
  return now;
}

/** Replaces the files of a tree by the files of another tree. Git refuses if a file differs from the first tree. */
async function checkOut(git: Git, from: string, to: string): Promise<void> {
  await git.maybe(['update-index', '-q', '--really-refresh']);
  await git.with({ isConfined: true }).text(['read-tree', '-m', '-u', from, to]);
}

function namesOf(changes: readonly TreeChange[]): string {
  const names = changes.map((one) => oneLine(toText(one.path)));
  return shortNameList(names, NAMED);
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
