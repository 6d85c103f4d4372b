import fs from 'node:fs';
import path from 'node:path';
import type { Git, Place } from './git.ts';
import { commitOf, refsOf, type Repository } from './repository.ts';
import { CONFLICTS, lines, on, type Snapshot } from './snapshot.ts';

/** So much of what was archived is held in memory at once. */
const BATCH_BYTES = 32 * 1024 * 1024;

/** What an archive says of the worktree it was made of. */
export interface Archived {
  head: string;
  /** The branch that was checked out; null: none. */
  headRef: string | null;
  tip: string | null;
  /** Its own branch, as it was called then. */
  branchRef: string;
  /** The trees of what was staged and of the files; null: they were gone. */
  staged: string;
  files: string | null;
}

/** The ref that keeps what a worktree held. */
export function archiveRef(worktreeId: string): string {
  return `refs/cadre/archive/${worktreeId}`;
}

/**
 * Keeps a snapshot under the worktree's archive ref: a commit of the files, whose parents are HEAD, a commit of what
 * was staged, every commit that nothing else keeps, and the archive before it, if there is one.
 */
export async function writeArchive(
  git: Git,
  repository: Repository,
  worktree: { id: string; worktree_name: string; branch: string },
  snapshot: Snapshot,
): Promise<void> {
  const place = refsOf(repository);
  const ref = archiveRef(worktree.id);
  const before = await commitOf(git, place, ref);
  const { head, tip, headRef, staged, files, own } = snapshot;
  const parentsOf = (shas: readonly (string | null)[]) =>
    [...new Set(shas)].flatMap((sha) => (sha === null ? [] : ['-p', sha]));
  const index = await git.text(
    place,
    ['commit-tree', staged, ...parentsOf([head])],
    `What was staged in the worktree ${worktree.worktree_name}\n`,
  );
  const commit = await git.text(
    place,
    ['commit-tree', files ?? staged, ...parentsOf([head, index, tip, ...own, before])],
    `What the worktree ${worktree.worktree_name} held

To have it back: cadre worktrees restore ${worktree.id}

Cadre-Branch: ${worktree.branch}
Cadre-Head: ${head ?? '-'}
Cadre-Head-Ref: ${headRef ?? '-'}
Cadre-Tip: ${tip ?? '-'}
Cadre-Staged: ${staged}
Cadre-Files: ${files ?? '-'}
`,
  );
  const none = '0'.repeat(commit.length);
  await git.text(place, ['update-ref', '--no-deref', ref, commit, before ?? none]);
}

/** What was archived of a worktree; null where nothing was, or it has no commit to begin from. */
export async function readArchive(
  git: Git,
  repository: Repository,
  worktreeId: string,
): Promise<Archived | null> {
  const place = refsOf(repository);
  const commit = await commitOf(git, place, archiveRef(worktreeId));
  if (commit === null) return null;
  const said = await git.text(place, ['cat-file', 'commit', commit]);
  const field = (name: string) => {
    const value = new RegExp(`^Cadre-${name}: (.+)$`, 'm').exec(said)?.[1] ?? '-';
    return value === '-' ? null : value;
  };
  const head = field('Head') ?? field('Tip');
  const staged = field('Staged');
  if (head === null || staged === null) return null;
  return {
    head,
    headRef: field('Head-Ref'),
    tip: field('Tip'),
    branchRef: `refs/heads/${field('Branch')}`,
    staged,
    files: field('Files'),
  };
}

/** Fills a worktree that has no files yet with what was archived: what was staged, then the files as they were. */
export async function fillFromArchive(
  git: Git,
  directory: string,
  { staged, files }: Archived,
): Promise<void> {
  const place = { directory };
  const entries = (await git.bytes(place, ['ls-tree', '-r', '-z', '--full-tree', staged]))
    .split('\0')
    .filter(Boolean);
  await git.text(place, ['read-tree', '--empty']);
  if (entries.length > 0)
    await git.text(place, ['update-index', '-z', '--index-info'], lines(entries.map(indexEntry)));
  await git.text(place, ['checkout-index', '--all', '--force', '--index', '--quiet']);
  if (files !== null) await bringFiles(git, place, staged, files);
}

/** A line of a tree as one of an index: what was in conflict gets its number back. */
function indexEntry(line: string): string {
  const [, mode = '', sha = '', name = ''] = /^(\d+) \w+ ([0-9a-f]+)\t([\s\S]*)$/.exec(line) ?? [];
  const [, stage = '0', own = name] =
    new RegExp(`^${CONFLICTS}/([123])/([\\s\\S]*)$`).exec(name) ?? [];
  return `${mode} ${sha} ${stage}\t${own}`;
}

interface File {
  name: string;
  mode: string;
  sha: string;
}

/** What differs between what was staged and the files, byte by byte: no filter is asked. */
async function bringFiles(git: Git, place: Place, staged: string, files: string): Promise<void> {
  const diff = ['diff-tree', '-r', '-z', '--raw', '--no-renames', staged, files];
  const fields = (await git.bytes(place, diff)).split('\0');
  const gone: string[] = [];
  const there: File[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode = '', , sha = ''] = (fields[at] ?? '').split(' ');
    const name = fields[at + 1] ?? '';
    if (mode === '000000' && !name.startsWith(`${CONFLICTS}/`)) gone.push(name);
    else if (mode !== '000000' && mode !== '160000') there.push({ name, mode, sha });
  }
  for (const name of gone) removeFile(place.directory, name);
  for (const batch of await inBatches(git, place, there)) {
    if (batch.bytes > BATCH_BYTES) await unpack(git, place, batch.files);
    else await write(git, place, batch.files);
  }
}

function removeFile(directory: string, name: string): void {
  fs.rmSync(on(directory, name), { force: true, recursive: true });
  const parent = name.slice(0, Math.max(0, name.lastIndexOf('/')));
  // Git has no empty directories.
  if (parent !== '' && fs.readdirSync(on(directory, parent)).length === 0)
    removeFile(directory, parent);
}

/** Files that fit in memory together; a big one stands alone. */
async function inBatches(
  git: Git,
  place: Place,
  files: readonly File[],
): Promise<{ files: File[]; bytes: number }[]> {
  if (files.length === 0) return [];
  const shas = files.map(({ sha }) => `${sha}\n`).join('');
  const sizes = (await git.text(place, ['cat-file', '--batch-check=%(objectsize)'], shas)).split(
    '\n',
  );
  const batches: { files: File[]; bytes: number }[] = [];
  for (const [at, file] of files.entries()) {
    const bytes = Number(sizes[at]);
    const last = batches.at(-1);
    if (last && last.bytes + bytes <= BATCH_BYTES) {
      last.files.push(file);
      last.bytes += bytes;
    } else batches.push({ files: [file], bytes });
  }
  return batches;
}

async function write(git: Git, place: Place, files: readonly File[]): Promise<void> {
  const shas = files.map(({ sha }) => `${sha}\n`).join('');
  const said = Buffer.from(await git.bytes(place, ['cat-file', '--batch'], shas), 'latin1');
  let at = 0;
  for (const { name, mode } of files) {
    const end = said.indexOf('\n', at);
    const size = Number(said.toString('latin1', at, end).split(' ')[2]);
    const content = said.subarray(end + 1, end + 1 + size);
    at = end + 1 + size + 1;
    const file = prepare(place, name);
    if (mode === '120000') fs.symlinkSync(content, file);
    else fs.writeFileSync(file, content, { mode: modeOf(mode) });
  }
}

/** A file too big for our memory: git writes it beside its place. */
async function unpack(git: Git, place: Place, files: readonly File[]): Promise<void> {
  for (const { name, mode, sha } of files) {
    const file = prepare(place, name);
    const written = await git.text(place, ['unpack-file', sha]);
    fs.renameSync(path.join(place.directory, written), file);
    fs.chmodSync(file, modeOf(mode) & ~process.umask());
  }
}

function prepare({ directory }: Place, name: string): Buffer {
  const file = on(directory, name);
  const parent = name.slice(0, Math.max(0, name.lastIndexOf('/')));
  if (parent !== '') fs.mkdirSync(on(directory, parent), { recursive: true });
  fs.rmSync(file, { force: true, recursive: true });
  return file;
}

function modeOf(mode: string): number {
  return mode === '100755' ? 0o777 : 0o666;
}
