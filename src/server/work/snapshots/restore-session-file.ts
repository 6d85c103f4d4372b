import { createHash } from 'node:crypto';
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
import type { Git } from '../git/git.ts';
import type { WorkContext } from './snapshot-requests.ts';
import { blobsAt, contentAt, entryAt } from './tree.ts';
import { isTaken, type StoredSnapshot, type Taken } from './store.ts';

/** The maximum size of a file that is restored, or replaced by one, in bytes. */
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Restores a file. Throws `conflict`, and changes nothing, if somebody else than the session's agent may have changed
 * it since, unless `force` is set: then what is there is kept beside it.
 */
export async function restoreSessionFile(
  place: WorkContext,
  { file, turn_id, moment, force }: BodyOf<typeof restoreFile>,
): Promise<ResponseOf<typeof restoreFile>> {
  const { requests, session } = place;
  const name = relativeName(file);
  const { id: session_id, active_turn_id: active } = session;
  if (active !== null)
    throw new AppError(
      'turn_in_progress',
      `turn ${active} of session ${session_id} is still running`,
    );
  const target = requests.snapshotAt(session_id, turn_id, moment);
  const checkout = await place.checkout();
  const { files, repository } = checkout;
  if (files !== target.root || repository.commonDir !== target.repository)
    throw conflictError(
      `the session now works in directory ${files}, but the snapshot is of ${target.root}`,
    );
  const since = requests.snapshotsSince(target);
  const git = await requests.openSnapshots(place, target, since);
  const entry = await entryAt(git, target.tree, name);
  const content = await contentAt(place, checkout, git, entry);
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
  // It may change until it is replaced.
  const kept_as = await replaceForeignFile(files, name, {
    entry: wanted,
    mayReplace: (now) => force || isSame(now, found),
    keeps: force && found !== null,
    maxBytes: MAX_BYTES,
  }).catch(refused);
  return { ...answer, changed: true, kept_as };
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
  return createHash(characters === 40 ? 'sha1' : 'sha256')
    .update(`blob ${entry.content.length}\0`)
    .update(entry.content)
    .digest('hex');
}

function refused(error: unknown): never {
  if (!(error instanceof NotReplaced)) throw error;
  throw conflictError(
    `cannot replace the file, so nothing was changed (${error.message}): try again`,
    { cause: error, isTemporary: true },
  );
}
