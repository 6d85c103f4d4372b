import fs from 'node:fs/promises';
import path from 'node:path';
import { openIsolatedGitDir } from '../git/isolated-git-dir.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import { type Git, nulTerminated, toBytes, toText } from '../git/git.ts';
import type { GitContext } from '../git/git-context.ts';
import { adminDirectory, commitOf, type Repository } from '../git/repository.ts';
import { archiveRef, CONFLICTS, type Snapshot, type Sparse } from './worktree-state.ts';

/** The content of a worktree as its archive records it. */
export interface Archived extends Pick<
  Snapshot,
  'headRef' | 'tip' | 'staged' | 'files' | 'sparse'
> {
  head: string;
  /** The worktree's own branch, by its name at that time. */
  branchRef: string;
}

/**
 * Commits a snapshot and moves the worktree's archive ref to that commit. Its tree holds the files; its parents are
 * HEAD, a commit of the staged files, every commit that no other ref keeps, and the previous archive, if there is one.
 */
export async function writeArchive(
  { failpoint }: GitContext,
  worktree: Worktree,
  { git }: Repository,
  snapshot: Snapshot,
): Promise<void> {
  const ref = archiveRef(worktree.id);
  const { head, tip, headRef, archive: before, staged, files, own, sparse } = snapshot;
  const parentsOf = (shas: readonly (string | null)[]) =>
    [...new Set(shas)].flatMap((sha) => (sha === null ? [] : ['-p', sha]));
  const commitTree = (tree: string, parents: readonly (string | null)[], message: string) =>
    git.text(['commit-tree', tree, ...parentsOf(parents)], message);
  const { worktree_name: name } = worktree;
  const index = await commitTree(staged, [head], `Staged changes of the worktree ${name}\n`);
  const sparseTree = sparse && (await writeSparse(git, sparse));
  const sparseCommit =
    sparseTree && (await commitTree(sparseTree, [], 'Patterns of the sparse checkout\n'));
  const commit = await commitTree(
    files ?? staged,
    [head, index, tip, ...own, before, sparseCommit],
    `Archive of the worktree ${name}

Restore it with: cadre worktrees restore ${worktree.id}

Cadre-Branch: ${worktree.branch}
Cadre-Head: ${head ?? '-'}
Cadre-Head-Ref: ${headRef ?? '-'}
Cadre-Tip: ${tip ?? '-'}
Cadre-Staged: ${staged}
Cadre-Files: ${files ?? '-'}
Cadre-Sparse: ${sparseTree ?? '-'}
`,
  );
  const zeroId = '0'.repeat(commit.length);
  await git.text(['update-ref', '--no-deref', ref, commit, before ?? zeroId]);
  failpoint('worktree.archived');
}

/** Returns the archive of a worktree; null if there is none, or if it names no commit to start from. */
export async function readArchive({ git }: Repository, id: string): Promise<Archived | null> {
  const message = await git.maybe(['cat-file', 'commit', `${archiveRef(id)}^{commit}`]);
  if (message === null) return null;
  const field = (name: string) => {
    const value = new RegExp(`^Cadre-${name}: (.+)$`, 'm').exec(message)?.[1] ?? '-';
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
    sparse: await readSparse(git, field('Sparse')),
  };
}

export async function hasArchive({ git }: Repository, id: string): Promise<boolean> {
  return (await commitOf(git, archiveRef(id))) !== null;
}

/** Whether the newest archive holds everything that a snapshot holds. */
export async function isArchived(
  repository: Repository,
  worktree: { id: string; path: string },
  { head, headRef, tip, archive, staged, files, sparse }: Snapshot,
): Promise<boolean> {
  if (archive === null) return false;
  const archived = await readArchive(repository, worktree.id);
  if (archived?.tip !== tip) return false;
  // The files and git's registration are gone, so an earlier attempt has already compared them.
  if (files === null && (await adminDirectory(repository, worktree.path)) === null) return true;
  const isFiles = files === null || archived.files === files;
  const isSparse = JSON.stringify(archived.sparse) === JSON.stringify(sparse);
  const isHead = archived.head === head && archived.headRef === headRef;
  return isFiles && isSparse && isHead && archived.staged === staged;
}

/** Writes a tree with the sparse-checkout patterns and the names of the absent files; returns its id. */
async function writeSparse(git: Git, { patterns, isCone, absent }: Sparse): Promise<string> {
  const blob = (text: string) => git.text(['hash-object', '-w', '--stdin'], text);
  const entries = [`100644 blob ${await blob(nulTerminated(absent))}\tabsent`];
  const name = isCone ? 'cone' : 'patterns';
  if (patterns !== null) entries.push(`100644 blob ${await blob(toBytes(patterns))}\t${name}`);
  return git.text(['mktree', '-z'], nulTerminated(entries));
}

async function readSparse(git: Git, tree: string | null): Promise<Sparse | null> {
  if (tree === null) return null;
  const names = (await git.text(['ls-tree', '--name-only', tree])).split('\n');
  const blob = (name: string) => git.bytes(['cat-file', 'blob', `${tree}:${name}`]);
  const patternsName = names.find((name) => name !== 'absent');
  return {
    patterns: patternsName === undefined ? null : toText(await blob(patternsName)),
    isCone: patternsName === 'cone',
    absent: (await blob('absent')).split('\0').filter(Boolean),
  };
}

/**
 * Fills a worktree that has no files yet from its archive: the index with the staged files, the directory with the
 * archived files, byte for byte: no filter runs, and no line ending changes. `gitDir` is git's own directory for the
 * worktree, `scratch` an empty directory of cadre's.
 */
export async function fillFromArchive(
  repository: Repository,
  about: { gitDir: string; files: string; scratch: string },
  { staged, files, sparse }: Archived,
): Promise<void> {
  const { gitDir, scratch } = about;
  if (sparse !== null) await makeSparse(repository.git, gitDir, sparse);
  const { isolated } = await openIsolatedGitDir(repository, { ...about, asTheyAre: true });
  const absent = sparse?.absent ?? [];
  const index = path.join(gitDir, 'index');
  const made = isolated.with({ index });
  const entries = await made.entries(['ls-tree', '-r', '-z', '--full-tree', staged]);
  // Without an index git begins an empty one.
  await fs.rm(index, { force: true });
  const put = ['update-index', '-z', '--index-info'];
  if (entries.length === 0) await made.text(['read-tree', '--empty']);
  else await made.text(put, nulTerminated(entries.map(indexEntry)));
  await skipIn(made, absent);
  const ownIndex = path.join(scratch, 'files');
  const own = isolated.with({ index: ownIndex });
  if (files === null) await fs.copyFile(index, ownIndex);
  else await own.text(['read-tree', files]);
  const forget = ['update-index', '--force-remove', '-z', '--stdin'];
  if (absent.length > 0) await own.text(forget, nulTerminated(absent));
  await own.with({ isConfined: true }).text(['checkout-index', '--all', '--force', '--quiet']);
}

/** Sets the skip-worktree flag of those absent files that the index lists. */
async function skipIn(git: Git, absent: readonly string[]): Promise<void> {
  if (absent.length === 0) return;
  const inIndex = new Set(await git.entries(['ls-files', '-z']));
  const skipped = absent.filter((name) => inIndex.has(name));
  const skip = ['update-index', '--skip-worktree', '-z', '--stdin'];
  if (skipped.length > 0) await git.text(skip, nulTerminated(skipped));
}

/** Turns the sparse checkout on again, with the archived patterns if there are any. */
async function makeSparse(git: Git, gitDir: string, { patterns, isCone }: Sparse): Promise<void> {
  if (patterns === null) return;
  await fs.mkdir(path.join(gitDir, 'info'), { recursive: true });
  await fs.writeFile(path.join(gitDir, 'info/sparse-checkout'), patterns);
  const admin = git.at({ directory: gitDir, gitDir });
  const config = ['config', '--file', path.join(gitDir, 'config.worktree')];
  await admin.text([...config, 'core.sparseCheckout', 'true']);
  await admin.text([...config, 'core.sparseCheckoutCone', String(isCone)]);
}

/** Turns a line of `git ls-tree` into a line of index info; a file in conflict gets its stage number back. */
function indexEntry(line: string): string {
  const [, mode = '', sha = '', name = ''] = /^(\d+) \w+ ([0-9a-f]+)\t([\s\S]*)$/.exec(line) ?? [];
  const [, stage = '0', own = name] =
    new RegExp(`^${CONFLICTS}/([123])/([\\s\\S]*)$`).exec(name) ?? [];
  return `${mode} ${sha} ${stage}\t${own}`;
}
