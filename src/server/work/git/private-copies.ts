import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { mapForeignEntries, type OpenEntry } from '../../../core/lib/foreign-file.ts';
import { OneAtATime } from '../../../core/lib/one-at-a-time.ts';
import { bytePath, type Git, nulTerminated, quotedPath, toBytes, toText } from './git.ts';
import { filtersIn, lastOf, type Setting } from './isolated-git-dir.ts';

/** The maximum size of a file that is copied together with others, in bytes, and the maximum number of such files. */
const SMALL_BYTES = 1024 * 1024;
const MAX_COPIES = 256;

/** A file or link of a checkout, as git has it. */
interface Blob {
  mode: '100644' | '100755' | '120000';
  sha: string;
}

/**
 * Writes the content of files of a checkout as blobs, byte for byte, without filters or line-ending conversion. Git reads
 * copies of cadre's own, because a process in the checkout could replace a directory by a link before git opens a file.
 * Names have one character for each byte. Null for a name at which there is neither a file nor a link.
 */
export async function writeBlobs(
  isolated: Git,
  files: string,
  names: readonly string[],
): Promise<(Blob | null)[]> {
  const found: (Blob | null)[] = [];
  while (found.length < names.length) {
    const batch = names.slice(found.length, found.length + MAX_COPIES);
    found.push(...(await writeBatch(isolated, files, batch)));
  }
  return found;
}

async function writeBatch(
  isolated: Git,
  files: string,
  names: readonly string[],
): Promise<(Blob | null)[]> {
  const scratch = path.dirname(isolated.location.index ?? '');
  // The copies of large files exist one after the other.
  const large = new OneAtATime();
  const copies = await mapForeignEntries(files, names, async (entry, at) => {
    const copy = path.join(scratch, `copy-${at}`);
    const mode = modeOf(entry);
    const isLarge = entry.kind === 'file' && entry.size > SMALL_BYTES;
    if (isLarge)
      return large.run('large', async () => {
        await copyContent(entry, copy);
        const [sha = ''] = await writeCopies(isolated, [copy]);
        return { mode, sha };
      });
    await copyContent(entry, copy);
    return { mode, copy };
  });
  const small = copies.flatMap((one) => (one && 'copy' in one ? [one.copy] : []));
  const shas = await writeCopies(isolated, small);
  const shaOf = new Map(small.map((copy, at) => [copy, shas[at] ?? '']));
  return copies.map((one) =>
    one && 'copy' in one ? { mode: one.mode, sha: shaOf.get(one.copy) ?? '' } : one,
  );
}

/** Writes the blobs of copies, removes the copies, and returns the object ids. */
async function writeCopies(isolated: Git, copies: readonly string[]): Promise<string[]> {
  if (copies.length === 0) return [];
  const paths = copies.map((copy) => `${quotedPath(toBytes(copy))}\n`).join('');
  const args = ['hash-object', '-w', '--no-filters', '--stdin-paths'];
  const shas = (await isolated.bytes(args, paths)).trimEnd().split('\n');
  await Promise.all(copies.map((copy) => fs.rm(copy)));
  return shas;
}

/**
 * Copies files of a checkout to the same names below an empty directory; returns the modes of files and links by name.
 * Links are not copied: a later copy could follow one.
 */
async function copyFiles(
  files: string,
  names: readonly string[],
  to: string,
): Promise<Map<string, Blob['mode']>> {
  const modes = new Map<string, Blob['mode']>();
  await mapForeignEntries(files, names, async (entry, at) => {
    const mode = modeOf(entry);
    const name = names[at] ?? '';
    modes.set(name, mode);
    if (mode === '120000') return;
    const copy = bytePath(to, name);
    await fs.mkdir(bytePath(to, path.posix.dirname(name)), { recursive: true });
    await copyContent(entry, copy);
    if (mode === '100755') await fs.chmod(copy, 0o700);
  });
  return modes;
}

interface OpenWorktree {
  isolated: Git;
  settings: readonly Setting[];
  /** The entries of the index as `git ls-files -s -z` prints them; null: git was not asked for them. */
  listed: readonly string[] | null;
}

/**
 * Writes the tree of the index with files as they are on the disk, converted and filtered as `git add` does. Git reads
 * copies of cadre's own, because a process in the worktree could replace a directory by a link before git opens a file.
 */
export async function writeWorktreeTree(
  opened: OpenWorktree,
  files: string,
  names: readonly string[],
): Promise<string> {
  const { isolated } = opened;
  const copies = path.join(path.dirname(isolated.location.index ?? ''), 'copies');
  await fs.mkdir(copies, { mode: 0o700 });
  const modes = await copyFiles(files, names, copies);
  const links = names.filter((name) => modes.get(name) === '120000');
  const copied = names.filter((name) => modes.has(name) && modes.get(name) !== '120000');
  const filtered = await filteredOf(opened, copied);
  const apart = new Set([...links, ...filtered]);
  const add = ['update-index', '--add', '--remove', '--replace', '-z', '--stdin'];
  const others = names.filter((name) => !apart.has(name));
  await isolated.with({ directory: copies, workTree: copies }).text(add, nulTerminated(others));
  const entries: string[] = [];
  for (const [at, blob] of (await writeBlobs(isolated, files, links)).entries())
    if (blob) entries.push(`${blob.mode} ${blob.sha}\t${links[at]}`);
  for (const name of filtered) {
    const copy = bytePath(copies, name).toString();
    const write = ['hash-object', '-w', `--path=${toText(name)}`, '--', copy];
    const mode = modes.get(name) ?? '100644';
    entries.push(`${indexModeOf(opened, name, mode)} ${await isolated.text(write)}\t${name}`);
  }
  const put = ['update-index', '--replace', '-z', '--index-info'];
  if (entries.length > 0) await isolated.text(put, nulTerminated(entries));
  return isolated.text(['write-tree']);
}

/**
 * Returns the files that a filter converts. Filters run in the worktree itself, because a person may have named one by its
 * path there. Only names in UTF-8 can be arguments of git.
 */
async function filteredOf(
  { isolated, settings }: OpenWorktree,
  names: readonly string[],
): Promise<string[]> {
  if (filtersIn(settings).length === 0 || names.length === 0) return [];
  const check = ['check-attr', '-z', '--stdin', 'filter'];
  const words = (await isolated.bytes(check, nulTerminated(names))).split('\0');
  const isFiltered = (at: number) => !['unspecified', 'unset'].includes(words[at * 3 + 2] ?? '');
  return names.filter((name, at) => isFiltered(at) && toBytes(toText(name)) === name);
}

/** Returns the mode of a file in the index, if the file system has no executable files. */
function indexModeOf({ settings, listed }: OpenWorktree, name: string, mode: string): string {
  if (lastOf(settings, 'core.filemode') !== 'false') return mode;
  const entry = listed?.find((line) => line.endsWith(`\t${name}`));
  return entry?.slice(0, 6) ?? '100644';
}

/** Returns the ids of files as blobs, with the hash function of ids of so many characters; null for links and missing files. */
export function blobIdsOf(
  files: string,
  names: readonly string[],
  characters: number,
): Promise<(string | null)[]> {
  return mapForeignEntries(files, names, async (entry) => {
    if (entry.kind === 'link') return null;
    const hash = blobHash(entry.size, characters);
    for await (const chunk of chunksOf(entry)) hash.update(chunk);
    return hash.digest('hex');
  });
}

/** Returns the hash of a blob of so many bytes, to which its content is to be added. */
export function blobHash(bytes: number, characters: number): Hash {
  return createHash(characters === 40 ? 'sha1' : 'sha256').update(`blob ${bytes}\0`);
}

function modeOf(entry: OpenEntry): Blob['mode'] {
  if (entry.kind === 'link') return '120000';
  return entry.isExecutable ? '100755' : '100644';
}

async function copyContent(entry: OpenEntry, copy: string | Buffer): Promise<void> {
  if (entry.kind === 'link') return fs.writeFile(copy, entry.target);
  if (entry.size <= SMALL_BYTES) return fs.writeFile(copy, await contentOf(entry));
  return pipeline(chunksOf(entry), createWriteStream(copy));
}

type OpenFile = Extract<OpenEntry, { kind: 'file' }>;

async function contentOf(entry: OpenFile): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOf(entry)) chunks.push(chunk);
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}

/** Reads only so many bytes as the file had when it was opened, because it may grow meanwhile. */
async function* chunksOf({ handle, size }: OpenFile): AsyncGenerator<Buffer, void> {
  let at = 0;
  while (at < size) {
    const length = Math.min(size - at, SMALL_BYTES);
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
