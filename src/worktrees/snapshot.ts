import fs from 'node:fs';
import path from 'node:path';
import type { Git, Place } from './git.ts';
import { commitOf, refsOf, type Repository } from './repository.ts';

/** Conflicts have up to three versions of a file; in a tree they lie below this, by their number. */
export const CONFLICTS = '.cadre-conflicts';

/** The branches of the other worktrees of a repository. Each of them goes with its worktree. */
export interface Beside {
  /** All of them: none of them keeps a commit for longer than its worktree lasts. */
  branches: readonly string[];
  /** Those whose worktrees are being removed just now. */
  leaving: readonly string[];
}

/** A worktree as it lies there. */
export interface Held {
  repository: Repository;
  branch: string;
  beside: Beside;
  /** What git keeps for it; null where it has forgotten it. */
  adminDir: string | null;
  /** Where its files are; null where they are gone. */
  files: string | null;
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

/** The submodules of a worktree that have what no remote of theirs has: no tree of ours can hold that. */
export async function unsavedSubmodules(git: Git, files: string): Promise<string[]> {
  const staged = (await git.bytes({ directory: files }, ['ls-files', '-s', '-z'])).split('\0');
  const submodules = staged
    .filter((line) => line.startsWith('160000 '))
    .map((line) => line.slice(line.indexOf('\t') + 1))
    .filter((name) => fs.existsSync(on(files, `${name}/.git`)));
  const found: string[] = [];
  for (const name of submodules) {
    const inner = { directory: on(files, name).toString() };
    const changes = await git.maybe(inner, ['status', '--porcelain', '--untracked-files=all']);
    const own = ['rev-list', '-n', '1', '--all', 'HEAD', '--not', '--remotes'];
    const commits = await git.maybe(inner, own);
    if (changes !== '' || commits !== '') found.push(name);
  }
  return found;
}

/** Whether it has to be archived: it holds something that no lasting ref leads to. */
export function holdsWork({ own, isCommitted }: Snapshot): boolean {
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
export async function takeSnapshot(git: Git, held: Held, scratch: string): Promise<Snapshot> {
  const { repository, branch, adminDir, files } = held;
  const { commonDir } = repository;
  const index = path.join(scratch, 'index');
  const place: Place = {
    directory: files ?? commonDir,
    gitDir: adminDir ?? commonDir,
    workTree: files ?? undefined,
    index,
  };
  const tip = await commitOf(git, refsOf(repository), `refs/heads/${branch}`);
  const head =
    adminDir === null
      ? tip
      : await commitOf(git, { directory: commonDir, gitDir: adminDir }, 'HEAD');
  const headRef = adminDir === null ? `refs/heads/${branch}` : refIn(adminDir);
  await copyIndex(git, place, { adminDir, head });
  const changes = files === null ? noChanges : await changesIn(git, place, files);
  const staged = await stagedTree(git, place, changes.conflicts);
  const asTheyAre = files === null ? null : await filesTree(git, place, files, changes);
  const committed = await headTree(git, place, head);
  const { own, isAlone } = await ownCommits(git, held, [head, tip]);
  return {
    head,
    headRef,
    tip,
    staged,
    files: asTheyAre,
    own,
    isAlone,
    isCommitted: staged === committed && (asTheyAre ?? committed) === committed,
    ignored: changes.ignored,
    nested: changes.nested,
  };
}

interface Changes {
  /** Names of files that are not as they are staged, and whether they are there. */
  changed: { name: string; isThere: boolean }[];
  conflicts: string[];
  ignored: string[];
  /** Repositories that git sees as one name. */
  nested: string[];
}

const noChanges: Changes = { changed: [], conflicts: [], ignored: [], nested: [] };

function refIn(adminDir: string): string | null {
  const head = fs.readFileSync(path.join(adminDir, 'HEAD'), 'utf8');
  return /^ref: (.+)$/m.exec(head)?.[1] ?? null;
}

/** A copy of the index, that nobody else writes, in which every entry is looked at. */
async function copyIndex(
  git: Git,
  place: Place,
  { adminDir, head }: { adminDir: string | null; head: string | null },
): Promise<void> {
  const copy = place.index ?? '';
  const original = adminDir === null ? null : path.join(adminDir, 'index');
  if (original === null || !fs.existsSync(original)) {
    await git.text(place, ['read-tree', head ?? '--empty']);
    return;
  }
  fs.copyFileSync(original, copy);
  // Git trusts what is older than the index: a copy must not be younger than what it is a copy of.
  const { mtimeMs } = fs.statSync(original);
  fs.utimesSync(copy, Math.floor(mtimeMs / 1000), Math.floor(mtimeMs / 1000));
  if (place.workTree !== undefined) await lookAtEveryEntry(git, place, place.workTree);
}

/** Entries may be marked as not to be looked at; what is there is looked at all the same. */
async function lookAtEveryEntry(git: Git, place: Place, files: string): Promise<void> {
  const entries = (await git.bytes(place, ['ls-files', '-v', '-z'])).split('\0').filter(Boolean);
  const marked = (pattern: RegExp) =>
    entries
      .filter((entry) => pattern.test(entry))
      .map((entry) => entry.slice(2))
      .filter((name) => lstat(files, name));
  for (const [flag, names] of [
    ['--no-assume-unchanged', marked(/^[a-z] /)],
    ['--no-skip-worktree', marked(/^[Ss] /)],
  ] as const)
    if (names.length > 0)
      await git.text(place, ['update-index', flag, '-z', '--stdin'], lines(names));
}

async function changesIn(git: Git, place: Place, files: string): Promise<Changes> {
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
  const replaced = found.changed.filter(({ name }) => fs.existsSync(on(files, `${name}/.git`)));
  found.nested.push(...replaced.map(({ name }) => name));
  return found;
}

/** The tree of what is staged. Where there are conflicts, their versions lie below a name of their own. */
async function stagedTree(git: Git, place: Place, conflicts: readonly string[]): Promise<string> {
  if (conflicts.length === 0) return git.text(place, ['write-tree']);
  const index = copyOf(place, 'staged');
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

/** The tree of the files as they are: not as filters or line endings would have them, but byte by byte. */
async function filesTree(
  git: Git,
  place: Place,
  files: string,
  { changed }: Changes,
): Promise<string> {
  const index = copyOf(place, 'files');
  if (changed.length > 0) {
    const scratch = path.dirname(place.index ?? '');
    const there: { name: string; mode: string; from: string }[] = [];
    const gone: string[] = [];
    for (const { name, isThere } of changed) {
      // By another way, such as a link, a name may lead to what is not its own.
      const stat = isThere ? lstat(files, name) : undefined;
      if (stat?.isSymbolicLink()) {
        const target = path.join(scratch, `link-${there.length}`);
        fs.writeFileSync(target, fs.readlinkSync(on(files, name), 'buffer'));
        there.push({ name, mode: '120000', from: Buffer.from(target).toString('latin1') });
      } else if (stat?.isFile()) {
        there.push({ name, mode: stat.mode & 0o100 ? '100755' : '100644', from: name });
      } else gone.push(name);
    }
    const paths = there.map(({ from }) => `${quoted(from)}\n`).join('');
    const hash = ['hash-object', '-w', '--no-filters', '--stdin-paths'];
    const shas = there.length === 0 ? [] : (await git.text(place, hash, paths)).split('\n');
    const zeros = '0'.repeat(shas[0]?.length ?? 40);
    const entries = [
      ...gone.map((name) => `0 ${zeros}\t${name}`),
      ...there.map(({ name, mode }, at) => `${mode} ${shas[at]}\t${name}`),
    ];
    await git.text(index, ['update-index', '-z', '--index-info'], lines(entries));
  }
  return git.text(index, ['write-tree']);
}

async function headTree(git: Git, place: Place, head: string | null): Promise<string> {
  return head === null
    ? git.text(place, ['hash-object', '-t', 'tree', '--stdin'], '')
    : git.text(place, ['rev-parse', '--verify', `${head}^{tree}`]);
}

/**
 * The ends of the commits that are worktrees' alone: of those that its branch and HEAD stand at or, by their logs, have
 * stood at, and of what a merge or rebase under way has put aside, what no lasting ref leads to. Branches of other
 * worktrees are none: each goes with its worktree.
 */
async function ownCommits(
  git: Git,
  held: Held,
  now: readonly (string | null)[],
): Promise<Pick<Snapshot, 'own' | 'isAlone'>> {
  const { repository, branch, beside } = held;
  const commits = await commitsOf(git, held, now);
  if (commits.length === 0) return { own: [], isAlone: false };
  const main = await commitOf(git, refsOf(repository), 'HEAD');
  const beyond = async (excluded: readonly string[], ...more: string[]) => {
    const keepers = [
      ...(main === null ? [] : [main]),
      ...excluded.map((one) => `--exclude=${one}`),
      '--branches',
      '--tags',
      '--remotes',
    ];
    const args = ['rev-list', ...more, '--stdin', '--not', ...keepers];
    const listed = await git.text(refsOf(repository), args, `${commits.join('\n')}\n`);
    return listed.split('\n').filter(Boolean);
  };
  const listed = await beyond([branch, ...beside.branches], '--parents');
  const parents = new Set(listed.flatMap((line) => line.split(' ').slice(1)));
  const own = listed.map((line) => line.split(' ')[0] ?? '').filter((sha) => !parents.has(sha));
  if (own.length === 0 || beside.branches.length === 0) return { own, isAlone: own.length > 0 };
  const alone = await beyond([branch, ...beside.leaving], '--max-count=1');
  return { own, isAlone: alone.length > 0 };
}

/** The commits that a worktree knows of, wherever it has noted them. */
async function commitsOf(
  git: Git,
  { repository, branch, adminDir }: Held,
  now: readonly (string | null)[],
): Promise<string[]> {
  const { commonDir } = repository;
  const named = [...now, ...remembered(path.join(commonDir, 'logs/refs/heads', branch))];
  if (adminDir !== null) {
    named.push(...remembered(path.join(adminDir, 'logs/HEAD')), ...putAside(adminDir));
    const refs = ['for-each-ref', '--format=%(objectname)'];
    refs.push('refs/worktree', 'refs/bisect', 'refs/rewritten');
    const place = { ...refsOf(repository), gitDir: adminDir };
    named.push(...(await git.text(place, refs)).split('\n'));
  }
  const shas = [...new Set(named)].filter((sha) => sha && !/^0+$/.test(sha));
  if (shas.length === 0) return [];
  const check = ['cat-file', '--batch-check'];
  const checked = await git.text(refsOf(repository), check, `${shas.join('\n')}\n`);
  return checked
    .split('\n')
    .filter((line) => / commit /.test(line))
    .map((line) => line.split(' ')[0] ?? '');
}

function remembered(log: string): string[] {
  if (!fs.existsSync(log)) return [];
  return fs
    .readFileSync(log, 'latin1')
    .split('\n')
    .flatMap((line) => line.split(' ', 2));
}

/** The commits that git notes beside HEAD, also those of a rebase or merge under way. */
function putAside(adminDir: string): string[] {
  const directories = ['', 'rebase-merge', 'rebase-apply'].map((name) => path.join(adminDir, name));
  return directories
    .filter((directory) => fs.existsSync(directory))
    .flatMap((directory) => fs.readdirSync(directory, { withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name !== 'index' && entry.name !== 'HEAD')
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => fs.statSync(file).size < 100_000)
    .flatMap((file) => fs.readFileSync(file, 'latin1').match(/^[0-9a-f]{40,64}\b/gm) ?? []);
}

/** A second copy of the index. */
function copyOf(place: Place, name: string): Place {
  const index = path.join(path.dirname(place.index ?? ''), name);
  fs.copyFileSync(place.index ?? '', index);
  return { ...place, index };
}

function lstat(files: string, name: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(on(files, name));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw error;
  }
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
