import fs from 'node:fs/promises';
import path from 'node:path';
import { readForeignFile } from '../lib/foreign-file.ts';
import { INDEX_BYTES, isOn, openBench, type Setting } from './bench.ts';
import { kindOf, readNote } from './foreign.ts';
import type { Git, GitLocation } from './git.ts';
import { type Beside, ownCommits } from './own-commits.ts';
import { commitOf, refIn, refsOf, type Repository } from './repository.ts';

/** Conflicts have up to three versions of a file; in a tree they lie below this, by their number. */
export const CONFLICTS = '.cadre-conflicts';

/** Where the parts of a worktree are just now, and the settings that apply to it. */
interface WorktreeState {
  repository: Repository;
  branch: string;
  beside: Beside;
  /** What git keeps for it; null where it has forgotten it. */
  adminDir: string | null;
  /** Where its files are; null where they are gone. */
  files: string | null;
  settings: readonly Setting[];
  /** The filters of the repository that somebody trusts: by them git tells which files are as they were committed. */
  filters: readonly Setting[];
}

/** A sparse checkout: only some of the files are to be there. */
export interface Sparse {
  /** The patterns of those files; null where there are none. */
  patterns: string | null;
  isCone: boolean;
  /** Names of files that were not to be there, and are not. */
  absent: string[];
}

/** All that a worktree holds, as objects in its repository. Equal ones hold the same. */
export interface Snapshot {
  head: string | null;
  /** The branch that is checked out; null: none. */
  headRef: string | null;
  /** Where its own branch stands. */
  tip: string | null;
  /** The tree of what is staged, with conflicts. */
  staged: string;
  /** The tree of the files as they are, each byte of them; null where they are gone. */
  files: string | null;
  /** Null where all files are to be there. */
  sparse: Sparse | null;
  /** The ends of the commits that nothing keeps for longer than some worktree lasts. */
  own: string[];
  /** Whether some of those are in no other worktree either, or only in one that is being removed. */
  isAlone: boolean;
  isCommitted: boolean;
  /** Names of what is ignored, and so is not in it. */
  ignored: string[];
  /** Repositories inside it that it knows nothing of. */
  nested: string[];
}

/** Whether it has to be archived: it holds something that no lasting ref leads to. */
export function holdsWork({ own, isCommitted }: Pick<Snapshot, 'own' | 'isCommitted'>): boolean {
  return own.length > 0 || !isCommitted;
}

/** Whether it is clean, as `delete_if_clean` means it: all that it holds is somewhere else, too. */
export function isClean({ isAlone, isCommitted }: Snapshot): boolean {
  return !isAlone && isCommitted;
}

/**
 * Takes what a worktree holds. It is only read: whoever works in it notices nothing, and locks that somebody holds or
 * left behind are no hindrance. `scratch` is an empty directory.
 */
export async function takeSnapshot(
  git: Git,
  state: WorktreeState,
  scratch: string,
): Promise<Snapshot> {
  const { repository, branch, adminDir, files } = state;
  const { commonDir } = repository;
  const tip = await commitOf(git, refsOf(repository), `refs/heads/${branch}`);
  const place = { directory: commonDir, gitDir: adminDir ?? commonDir };
  const head = adminDir === null ? tip : await commitOf(git, place, 'HEAD');
  const headRef = adminDir === null ? `refs/heads/${branch}` : await refIn(adminDir);
  const bench = await openBench({ ...state, head, scratch });
  const absent = await copyIndex(git, bench, { adminDir, head });
  const changes = files === null ? noChanges : await changesIn(git, bench, files);
  const staged = await stagedTree(git, bench, changes.conflicts);
  const asGitSees =
    files === null || changes.changed.length > 0 || changes.conflicts.length > 0
      ? files && (await filesTree(git, bench, files, changes.changed))
      : staged;
  const committed = await headTree(git, bench, head);
  const { own, isAlone } = await ownCommits(git, state, [head, tip]);
  const isCommitted = staged === committed && (asGitSees ?? committed) === committed;
  const mustBeKept = asGitSees !== null && holdsWork({ own, isCommitted });
  return {
    head,
    headRef,
    tip,
    staged,
    files: mustBeKept
      ? await rawTree(git, bench, files ?? '', { changes, absent, asGitSees })
      : asGitSees,
    sparse: adminDir === null ? null : await sparseOf(state.settings, adminDir, absent),
    own,
    isAlone,
    isCommitted,
    ignored: changes.ignored,
    nested: changes.nested,
  };
}

interface Changed {
  name: string;
  isThere: boolean;
}

interface Changes {
  /** Names of files that are not as they are staged, and whether they are there. */
  changed: Changed[];
  conflicts: string[];
  ignored: string[];
  /** Repositories that git sees as one name. */
  nested: string[];
}

const noChanges: Changes = { changed: [], conflicts: [], ignored: [], nested: [] };

/**
 * A copy of the index, that nobody else writes, in which every entry that is there is looked at; answers the names of
 * those that are not, as they are not to be.
 */
async function copyIndex(
  git: Git,
  place: GitLocation,
  { adminDir, head }: { adminDir: string | null; head: string | null },
): Promise<string[]> {
  const copy = place.index ?? '';
  const content =
    adminDir === null ? null : await readForeignFile(adminDir, 'index', { maxBytes: INDEX_BYTES });
  if (content === null || adminDir === null) {
    await git.text(place, ['read-tree', head ?? '--empty']);
    return [];
  }
  // Git trusts what is older than the index: a copy must not be younger than what it is a copy of.
  const { mtimeMs } = await fs.lstat(path.join(adminDir, 'index'));
  await fs.writeFile(copy, content);
  await fs.utimes(copy, Math.floor(mtimeMs / 1000), Math.floor(mtimeMs / 1000));
  return place.workTree === undefined ? [] : lookAtEveryEntry(git, place, place.workTree);
}

/** Entries may be marked as not to be looked at; what is there is looked at all the same. */
async function lookAtEveryEntry(git: Git, place: GitLocation, files: string): Promise<string[]> {
  const entries = (await git.bytes(place, ['ls-files', '-v', '-z'])).split('\0').filter(Boolean);
  const absent: string[] = [];
  for (const [flag, pattern] of [
    ['--no-assume-unchanged', /^[a-z] /],
    ['--no-skip-worktree', /^[Ss] /],
  ] as const) {
    const there: string[] = [];
    for (const entry of entries.filter((one) => pattern.test(one))) {
      const name = entry.slice(2);
      if ((await kindOf(on(files, name))) !== null) there.push(name);
      else if (flag === '--no-skip-worktree') absent.push(name);
    }
    if (there.length > 0)
      await git.text(place, ['update-index', flag, '-z', '--stdin'], lines(there));
  }
  return absent;
}

async function changesIn(git: Git, place: GitLocation, files: string): Promise<Changes> {
  const said = await git.bytes(place, [
    'status',
    '--porcelain=v2',
    '-z',
    '--untracked-files=all',
    '--ignored=matching',
    '--no-renames',
    '--ignore-submodules=all',
  ]);
  const found: Changes = { changed: [], conflicts: [], ignored: [], nested: [] };
  for (const line of said.split('\0').filter(Boolean)) {
    const fields = line.split(' ');
    const [kind = '', xy = '', sub = ''] = fields;
    const name = fields.slice({ '1': 8, u: 10 }[kind] ?? 1).join(' ');
    if (kind === '!') found.ignored.push(name);
    else if (kind === '?' && name.endsWith('/')) found.nested.push(name.slice(0, -1));
    else if (kind === '?') found.changed.push({ name, isThere: true });
    // Submodules are looked at by themselves.
    else if (sub.startsWith('S') || xy[1] === '.') continue;
    else if (kind === 'u') {
      found.conflicts.push(name);
      found.changed.push({ name, isThere: fields[6] !== '000000' });
    } else found.changed.push({ name, isThere: xy[1] !== 'D' });
  }
  // A file may have given way to a repository.
  for (const { name } of found.changed)
    if ((await kindOf(on(files, `${name}/.git`))) !== null) found.nested.push(name);
  return found;
}

/** The tree of what is staged. Where there are conflicts, their versions lie below a name of their own. */
async function stagedTree(
  git: Git,
  place: GitLocation,
  conflicts: readonly string[],
): Promise<string> {
  if (conflicts.length === 0) return git.text(place, ['write-tree']);
  const index = await copyOf(place, 'staged');
  const stages = (await git.bytes(place, ['ls-files', '-u', '-z'])).split('\0').filter(Boolean);
  const zeros = '0'.repeat(stages[0]?.split(' ')[1]?.length ?? 40);
  const entries = stages.map((line) => {
    const [, mode = '', sha = '', stage = '', name = ''] =
      /^(\d+) ([0-9a-f]+) (\d)\t([\s\S]*)$/.exec(line) ?? [];
    return `${mode} ${sha}\t${CONFLICTS}/${stage}/${name}`;
  });
  const gone = conflicts.map((name) => `0 ${zeros}\t${name}`);
  await git.text(index, ['update-index', '-z', '--index-info'], lines([...gone, ...entries]));
  return git.text(index, ['write-tree']);
}

/** The tree of what is staged with these files as they are, byte by byte. */
async function filesTree(
  git: Git,
  place: GitLocation,
  files: string,
  changed: readonly Changed[],
): Promise<string> {
  const index = await copyOf(place, 'files');
  if (changed.length > 0) {
    const entries = await entriesOf(git, place, files, changed);
    await git.text(index, ['update-index', '-z', '--index-info'], lines(entries));
  }
  return git.text(index, ['write-tree']);
}

/** Lines of an index for files as they are: not as filters or line endings would have them, but byte by byte. */
async function entriesOf(
  git: Git,
  place: GitLocation,
  files: string,
  changed: readonly Changed[],
): Promise<string[]> {
  const scratch = path.dirname(place.index ?? '');
  const there: { name: string; mode: string; from: string }[] = [];
  const gone: string[] = [];
  for (const { name, isThere } of changed) {
    // By another way, such as a link, a name may lead to what is not its own.
    const kind = isThere ? await kindOf(on(files, name)) : null;
    if (kind === 'link') {
      const target = path.join(scratch, `link-${there.length}`);
      await fs.writeFile(target, await fs.readlink(on(files, name), 'buffer'));
      there.push({ name, mode: '120000', from: Buffer.from(target).toString('latin1') });
    } else if (kind === 'file') {
      const { mode } = await fs.lstat(on(files, name));
      there.push({ name, mode: mode & 0o100 ? '100755' : '100644', from: name });
    } else gone.push(name);
  }
  const shas = await hash(
    git,
    place,
    there.map(({ from }) => from),
    ['-w'],
  );
  const zeros = '0'.repeat(shas[0]?.length ?? 40);
  return [
    ...gone.map((name) => `0 ${zeros}\t${name}`),
    ...there.map(({ name, mode }, at) => `${mode} ${shas[at]}\t${name}`),
  ];
}

/**
 * The tree of all files as they are. Git calls a file unchanged that filters or line endings made of what was
 * committed: of those, too, the bytes that are there are kept. Without any, it is the tree that git sees.
 */
async function rawTree(
  git: Git,
  place: GitLocation,
  files: string,
  {
    changes,
    absent,
    asGitSees,
  }: { changes: Changes; absent: readonly string[]; asGitSees: string },
): Promise<string> {
  const left = new Set([...changes.changed.map(({ name }) => name), ...absent]);
  const entries = (await git.bytes(place, ['ls-files', '-s', '-z']))
    .split('\0')
    .map((line) => /^100\d{3} ([0-9a-f]+) 0\t([\s\S]*)$/.exec(line))
    .flatMap((found) => (found ? [{ sha: found[1], name: found[2] ?? '' }] : []))
    .filter(({ name }) => !left.has(name));
  const shas = await hash(
    git,
    place,
    entries.map(({ name }) => name),
    [],
  );
  const converted = entries
    .filter(({ sha }, at) => sha !== shas[at])
    .map(({ name }) => ({ name, isThere: true }));
  if (converted.length === 0) return asGitSees;
  return filesTree(git, place, files, [...changes.changed, ...converted]);
}

/** The objects that files would be; with `-w` they are written. */
async function hash(
  git: Git,
  place: GitLocation,
  names: readonly string[],
  how: readonly string[],
): Promise<string[]> {
  if (names.length === 0) return [];
  const paths = names.map((name) => `${quoted(name)}\n`).join('');
  const args = ['hash-object', ...how, '--no-filters', '--stdin-paths'];
  return (await git.text(place, args, paths)).split('\n');
}

async function headTree(git: Git, place: GitLocation, head: string | null): Promise<string> {
  return head === null
    ? git.text(place, ['hash-object', '-t', 'tree', '--stdin'], '')
    : git.text(place, ['rev-parse', '--verify', `${head}^{tree}`]);
}

/** Which files are to be there, where not all of them are. */
async function sparseOf(
  settings: readonly Setting[],
  adminDir: string,
  absent: string[],
): Promise<Sparse | null> {
  const isSparse = isOn(settings, 'core.sparsecheckout');
  if (!isSparse && absent.length === 0) return null;
  return {
    patterns: isSparse ? ((await readNote(adminDir, 'info/sparse-checkout')) ?? '') : null,
    isCone: isOn(settings, 'core.sparsecheckoutcone'),
    absent,
  };
}

/** A second copy of the index. */
async function copyOf(place: GitLocation, name: string): Promise<GitLocation> {
  const index = path.join(path.dirname(place.index ?? ''), name);
  await fs.copyFile(place.index ?? '', index);
  return { ...place, index };
}

/** The path of a name that git gave: its bytes need not be UTF-8. */
export function on(files: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${files}/`), Buffer.from(name, 'latin1')]);
}

/** Each with the NUL behind it that git wants. */
export function lines(entries: readonly string[]): string {
  return entries.map((entry) => `${entry}\0`).join('');
}

/** A path on a line of its own, as git reads it. */
function quoted(name: string): string {
  if (!/^"|[\n\r\\]/.test(name)) return name;
  const escaped = name.replaceAll(
    /["\\\n\r]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return `"${escaped}"`;
}
