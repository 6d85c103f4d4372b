import fs from 'node:fs/promises';
import path from 'node:path';
import { openIsolatedGitDir, ownSettings } from '../git/isolated-git-dir.ts';
import { type Git, type GitLocation, nulTerminated } from '../git/git.ts';
import { adminDirectory, commitOf, refsOf, type Repository } from '../git/repository.ts';
import { archiveRef, CONFLICTS, type Snapshot, type Sparse } from './worktree-state.ts';

/** The content of a worktree as its archive records it. */
export interface Archived {
  head: string;
  /** The branch that was checked out; null: none. */
  headRef: string | null;
  tip: string | null;
  /** The worktree's own branch, by its name at that time. */
  branchRef: string;
  /** The trees of the staged files and of the files on the disk; `files` is null if those were gone. */
  staged: string;
  files: string | null;
  /** Null if the checkout was not sparse. */
  sparse: Sparse | null;
}

/**
 * Commits a snapshot and moves the worktree's archive ref to that commit. Its tree holds the files; its parents are
 * HEAD, a commit of the staged files, every commit that no other ref keeps, and the previous archive, if there is one.
 */
export async function writeArchive(
  git: Git,
  repository: Repository,
  worktree: { id: string; worktree_name: string; branch: string },
  snapshot: Snapshot,
): Promise<void> {
  const location = refsOf(repository);
  const ref = archiveRef(worktree.id);
  const { head, tip, headRef, archive: before, staged, files, own, sparse } = snapshot;
  const parentsOf = (shas: readonly (string | null)[]) =>
    [...new Set(shas)].flatMap((sha) => (sha === null ? [] : ['-p', sha]));
  const index = await git.text(
    location,
    ['commit-tree', staged, ...parentsOf([head])],
    `Staged changes of the worktree ${worktree.worktree_name}\n`,
  );
  const sparseTree = sparse && (await writeSparse(git, repository, sparse));
  const sparseCommit =
    sparseTree &&
    (await git.text(location, [
      'commit-tree',
      sparseTree,
      '-m',
      'Patterns of the sparse checkout',
    ]));
  const commit = await git.text(
    location,
    [
      'commit-tree',
      files ?? staged,
      ...parentsOf([head, index, tip, ...own, before, sparseCommit]),
    ],
    `Archive of the worktree ${worktree.worktree_name}

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
  await git.text(location, ['update-ref', '--no-deref', ref, commit, before ?? zeroId]);
}

/** Returns the archive of a worktree; null if there is none, or if it names no commit to start from. */
export async function readArchive(
  git: Git,
  repository: Repository,
  worktreeId: string,
): Promise<Archived | null> {
  const location = refsOf(repository);
  const message = await git.maybe(location, [
    'cat-file',
    'commit',
    `${archiveRef(worktreeId)}^{commit}`,
  ]);
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
    sparse: await readSparse(git, repository, field('Sparse')),
  };
}

export async function hasArchive(git: Git, repository: Repository, id: string): Promise<boolean> {
  return (await commitOf(git, refsOf(repository), archiveRef(id))) !== null;
}

/** Whether the newest archive holds everything that a snapshot holds. */
export async function isArchived(
  git: Git,
  repository: Repository,
  worktree: { id: string; path: string },
  { head, headRef, tip, archive, staged, files, sparse }: Snapshot,
): Promise<boolean> {
  if (archive === null) return false;
  const archived = await readArchive(git, repository, worktree.id);
  if (archived?.tip !== tip) return false;
  // The files and git's registration are gone, so an earlier attempt has already compared them.
  if (files === null && (await adminDirectory(repository, worktree.path)) === null) return true;
  const isFiles = files === null || archived.files === files;
  const isSparse = JSON.stringify(archived.sparse) === JSON.stringify(sparse);
  const isHead = archived.head === head && archived.headRef === headRef;
  return isFiles && isSparse && isHead && archived.staged === staged;
}

/** Writes a tree with the sparse-checkout patterns and the names of the absent files; returns its id. */
async function writeSparse(git: Git, repository: Repository, sparse: Sparse): Promise<string> {
  const blob = (text: string) =>
    git.text(refsOf(repository), ['hash-object', '-w', '--stdin'], text);
  const { patterns, isCone, absent } = sparse;
  const entries = [`100644 blob ${await blob(nulTerminated(absent))}\tabsent`];
  if (patterns !== null) {
    const encoded = Buffer.from(patterns).toString('latin1');
    entries.push(`100644 blob ${await blob(encoded)}\t${isCone ? 'cone' : 'patterns'}`);
  }
  return git.text(refsOf(repository), ['mktree', '-z'], nulTerminated(entries));
}

async function readSparse(
  git: Git,
  repository: Repository,
  tree: string | null,
): Promise<Sparse | null> {
  if (tree === null) return null;
  const location = refsOf(repository);
  const names = (await git.text(location, ['ls-tree', '--name-only', tree])).split('\n');
  const blob = (name: string) => git.bytes(location, ['cat-file', 'blob', `${tree}:${name}`]);
  const patternsName = names.find((name) => name !== 'absent');
  return {
    patterns:
      patternsName === undefined
        ? null
        : Buffer.from(await blob(patternsName), 'latin1').toString('utf8'),
    isCone: patternsName === 'cone',
    absent: (await blob('absent')).split('\0').filter(Boolean),
  };
}

/**
 * Fills a worktree that has no files yet from its archive: the index with the staged files, the directory with the
 * archived files, byte for byte: no filter runs, and no line ending changes. `adminDir` is git's own directory for the
 * worktree, `scratch` an empty directory of cadre's.
 */
export async function fillFromArchive(
  git: Git,
  about: { repository: Repository; adminDir: string; files: string; scratch: string },
  { staged, files, sparse }: Archived,
): Promise<void> {
  const { adminDir, scratch } = about;
  if (sparse?.patterns !== null && sparse !== null) await makeSparse(git, adminDir, sparse);
  const settings = await ownSettings(git, about.repository, adminDir);
  const isolated = await openIsolatedGitDir({ ...about, settings, head: null, asTheyAre: true });
  const index = { ...isolated, index: path.join(adminDir, 'index') };
  const absent = sparse?.absent ?? [];
  const entries = (await git.bytes(index, ['ls-tree', '-r', '-z', '--full-tree', staged]))
    .split('\0')
    .filter(Boolean);
  // Without an index git begins an empty one.
  await fs.rm(index.index, { force: true });
  if (entries.length === 0) await git.text(index, ['read-tree', '--empty']);
  else
    await git.text(
      index,
      ['update-index', '-z', '--index-info'],
      nulTerminated(entries.map(indexEntry)),
    );
  await skipIn(git, index, absent);
  const own = { ...isolated, index: path.join(scratch, 'files') };
  if (files === null) await fs.copyFile(index.index, own.index);
  else await git.text(own, ['read-tree', files]);
  const forget = ['update-index', '--force-remove', '-z', '--stdin'];
  if (absent.length > 0) await git.text(own, forget, nulTerminated(absent));
  await git.text(own, ['checkout-index', '--all', '--force', '--quiet']);
}

/** Sets the skip-worktree flag of those absent files that the index lists. */
async function skipIn(git: Git, index: GitLocation, absent: readonly string[]): Promise<void> {
  if (absent.length === 0) return;
  const inIndex = new Set((await git.bytes(index, ['ls-files', '-z'])).split('\0'));
  const skipped = absent.filter((name) => inIndex.has(name));
  const skip = ['update-index', '--skip-worktree', '-z', '--stdin'];
  if (skipped.length > 0) await git.text(index, skip, nulTerminated(skipped));
}

/** Turns the sparse checkout on again, with the archived patterns. */
async function makeSparse(git: Git, adminDir: string, { patterns, isCone }: Sparse): Promise<void> {
  await fs.mkdir(path.join(adminDir, 'info'), { recursive: true });
  await fs.writeFile(path.join(adminDir, 'info/sparse-checkout'), patterns ?? '');
  const file = path.join(adminDir, 'config.worktree');
  for (const [name, value] of [
    ['core.sparseCheckout', 'true'],
    ['core.sparseCheckoutCone', String(isCone)],
  ] as const)
    await git.text({ directory: adminDir, gitDir: adminDir }, [
      'config',
      '--file',
      file,
      name,
      value,
    ]);
}

/** Turns a line of `git ls-tree` into a line of index info; a file in conflict gets its stage number back. */
function indexEntry(line: string): string {
  const [, mode = '', sha = '', name = ''] = /^(\d+) \w+ ([0-9a-f]+)\t([\s\S]*)$/.exec(line) ?? [];
  const [, stage = '0', own = name] =
    new RegExp(`^${CONFLICTS}/([123])/([\\s\\S]*)$`).exec(name) ?? [];
  return `${mode} ${sha} ${stage}\t${own}`;
}
