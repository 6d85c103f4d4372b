import fs from 'node:fs/promises';
import path from 'node:path';
import type { Conflict, MergeResult } from '../../../api/worktree-merge.ts';
import { conflictError } from '../../../api/errors.ts';
import { lastOf, openIsolatedGitDir, type Setting } from '../git/isolated-git-dir.ts';
import { type Git, nulTerminated, toBytes, toText } from '../git/git.ts';
import { GitFailure } from '../git/git-failure.ts';
import { idsOf, type Repository } from '../git/repository.ts';

/** How many commits an answer names. */
const COMMITS = 100;
/** Git's exit codes for a merge with conflicts, and for options that it does not know. */
const CONFLICTS = 1;
const UNKNOWN_OPTION = 129;

/** The name and address of a committer in the settings of git; one character for each byte. */
export interface Person {
  name: string;
  email: string;
}

/** A commit, with one character for each byte of its texts. */
export interface Commit {
  id: string;
  tree: string;
  parents: string[];
  /** Name, address, time and time zone of its author, as git writes them in one line. */
  author: string;
  encoding: string | null;
  isSigned: boolean;
  message: string;
}

/** Returns the person whom git would name as committer; null if `user.name` or `user.email` is not set. */
export function personOf(settings: readonly Setting[]): Person | null {
  const valueOf = (name: string) =>
    toBytes((lastOf(settings, name) ?? '').replaceAll(/[<>\p{Cc}]/gu, '').trim());
  const [name, email] = [valueOf('user.name'), valueOf('user.email')];
  return name === '' || email === '' ? null : { name, email };
}

/** Returns the line in which git stores who did something, and when; `at` in Unix milliseconds. */
export function signatureOf({ name, email }: Person, at: number): string {
  const minutes = -new Date(at).getTimezoneOffset();
  const two = (value: number) => String(Math.abs(Math.trunc(value))).padStart(2, '0');
  const zone = `${minutes < 0 ? '-' : '+'}${two(minutes / 60)}${two(minutes % 60)}`;
  return `${name} <${email}> ${Math.floor(at / 1000)} ${zone}`;
}

/** The commits that one commit has and another one lacks, newest first. */
export interface CommitRange {
  commits: MergeResult['commits'];
  commit_count: number;
  read: Commit[];
}

export async function commitsBeyond(
  repository: Repository,
  { from, to }: { from: string; to: string },
): Promise<CommitRange> {
  const { git } = repository;
  const range = [to, `^${from}`];
  const listed = await git.text(['rev-list', `--max-count=${COMMITS}`, ...range]);
  const read = await readCommits(repository, listed.split('\n').filter(Boolean));
  const isCut = read.length === COMMITS;
  const commit_count = isCut
    ? Number(await git.text(['rev-list', '--count', ...range]))
    : read.length;
  const commits = read.map((one) => ({
    commit: one.id,
    subject: subjectOf(one),
    author: toText(one.author.replace(/ <[^<]*$/, '')),
    authored_at: authoredAt(one.author),
  }));
  return { commits, commit_count, read };
}

/** The latest moment that a Date can have, in Unix ms. */
const LATEST_MS = 8.64e15;

/** Returns the time of the author of a commit, in Unix ms; 0 for one that no calendar has. */
function authoredAt(author: string): number {
  const at = Number(/> (\d+) [-+]\d+$/.exec(author)?.[1] ?? 0) * 1000;
  return at <= LATEST_MS ? at : 0;
}

/** Reads commits, in the order of their ids. */
export async function readCommits({ git }: Repository, ids: readonly string[]): Promise<Commit[]> {
  if (ids.length === 0) return [];
  const output = await git.bytes(['cat-file', '--batch'], ids.join('\n'));
  const commits: Commit[] = [];
  let at = 0;
  for (const id of ids) {
    const end = output.indexOf('\n', at);
    const size = Number(output.slice(at, end).split(' ')[2]);
    commits.push(parsed(id, output.slice(end + 1, end + 1 + size)));
    at = end + 1 + size + 1;
  }
  return commits;
}

function parsed(id: string, content: string): Commit {
  const end = content.indexOf('\n\n');
  const head = end < 0 ? content : content.slice(0, end);
  const all = (name: string) =>
    [...head.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, value]) => value ?? '');
  return {
    id,
    tree: all('tree')[0] ?? '',
    parents: all('parent'),
    author: all('author')[0] ?? '',
    encoding: all('encoding')[0] ?? null,
    isSigned: /^gpgsig/m.test(head),
    message: end < 0 ? '' : content.slice(end + 2),
  };
}

/** Returns the first paragraph of a message in one line, as git shows it. */
export function subjectOf({ message }: Pick<Commit, 'message'>): string {
  const [first = ''] = message.trimStart().split(/\n\s*\n/, 1);
  return toText(first.trim().replaceAll(/\s*\n\s*/g, ' '));
}

/** Ends a message as git does, with one line break; encodes it with one character for each byte. */
export function messageBytes(text: string): string {
  return toBytes(`${text.trimEnd()}\n`);
}

/**
 * Writes a commit, and returns its id. The object is written as it is: nothing signs it, no hook runs, and the author's
 * line stays as it was.
 */
export function writeCommit(
  { git }: Repository,
  commit: Pick<Commit, 'tree' | 'parents' | 'author' | 'message'> & {
    committer: string;
    encoding?: string | null;
  },
): Promise<string> {
  const { tree, parents, author, committer, encoding, message } = commit;
  const lines = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${author}`,
    `committer ${committer}`,
    ...(encoding ? [`encoding ${encoding}`] : []),
  ];
  const content = `${lines.join('\n')}\n\n${message}`;
  return git.text(['hash-object', '-t', 'commit', '-w', '--stdin'], content);
}

export async function treesOf({ git }: Repository, commits: readonly string[]): Promise<string[]> {
  const names = commits.map((commit) => `${commit}^{tree}`);
  const found = (await idsOf(git, names)) ?? [];
  const trees = found.filter((tree) => tree !== null);
  if (trees.length === commits.length) return trees;
  throw conflictError('git cannot read the tree of a commit: run git fsck');
}

/** The files that two sides have together, as a tree, and where git could not decide. */
export interface Merged {
  tree: string;
  conflicts: Conflict[];
}

/**
 * Opens a git directory for merges: no driver or filter of the repository's settings runs, and no file of a checkout is
 * read. The attributes come from the commit `ours`, as in a checkout of it. `scratch` is an empty directory; `settings`
 * belong to the repository itself.
 */
export async function openMergeDirectory(
  repository: Repository,
  { ours, scratch, settings }: { ours: string; scratch: string; settings: readonly Setting[] },
): Promise<Git> {
  const files = path.join(scratch, 'attributes');
  await fs.mkdir(files);
  const about = { files, head: ours, scratch, settings };
  const { isolated } = await openIsolatedGitDir(repository, about);
  const names = await isolated.entries(['ls-tree', '-r', '-z', '--name-only', ours]);
  const attributes = names.filter((name) => /(^|\/)\.gitattributes$/.test(name));
  if (attributes.length === 0) return isolated;
  await isolated.text(['read-tree', ours]);
  await isolated.text(['checkout-index', '-z', '--stdin'], nulTerminated(attributes));
  return isolated;
}

/** Merges two commits without touching a ref or a checkout. Throws `conflict` if git cannot do that at all. */
export async function mergeCommits(
  isolated: Git,
  { ours, theirs }: { ours: string; theirs: string },
): Promise<Merged> {
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--messages', ours, theirs];
  try {
    return { tree: treeIn(await isolated.bytes(args)), conflicts: [] };
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    const { exitCode, output, message } = error;
    if (exitCode === CONFLICTS && output !== '')
      return { tree: treeIn(output), conflicts: conflictsIn(output) };
    const why =
      exitCode === UNKNOWN_OPTION
        ? 'the installed git cannot merge without a checkout: install git 2.38 or newer'
        : `git cannot merge the branches: ${message}`;
    throw conflictError(why, { cause: error });
  }
}

function treeIn(output: string): string {
  return output.split(/[\0\n]/, 1)[0] ?? '';
}

/** Reads the names of the files in conflict, and then git's messages: how many paths, these, the kind, the text. */
function conflictsIn(output: string): Conflict[] {
  const fields = output.split('\0').slice(1);
  const end = fields.indexOf('');
  const names = fields.slice(0, end);
  const found = new Map<string, Conflict>();
  for (let at = end + 1; at + 2 < fields.length;) {
    const count = Number(fields[at]);
    // Git prints no other number. With a negative one, the loop would not end.
    if (!(count >= 0)) break;
    const [name = ''] = fields.slice(at + 1, at + 1 + count);
    const kind = /^CONFLICT \((.+)\)$/.exec(fields[at + 1 + count] ?? '')?.[1];
    const message = (fields[at + 2 + count] ?? '').replace(/^CONFLICT \([^)]*\): /, '').trim();
    if (kind !== undefined && !found.has(name))
      found.set(name, { path: toText(name), kind, message: toText(message) });
    at += count + 3;
  }
  for (const name of names)
    if (!found.has(name)) found.set(name, { path: toText(name), kind: 'contents', message: '' });
  return [...found.values()];
}

/** The last commit of a replay, or the commit that conflicts. */
export type Replayed = { tip: string; tree: string } | { conflicts: Conflict[]; at: Commit };

/**
 * Writes commits again on top of `onto`, oldest first. Author, message and time of each stay; one that changes nothing
 * any more is left out. Stops at the first conflict.
 */
export async function replayCommits(
  repository: Repository,
  isolated: Git,
  about: { commits: readonly Commit[]; onto: string; committer: string },
): Promise<Replayed> {
  const { commits, committer, onto } = about;
  const treeOf = async (id: string) => (await treesOf(repository, [id]))[0] ?? '';
  let tip = onto;
  let tree = await treeOf(onto);
  for (const commit of commits) {
    const { parents } = commit;
    const parentTree = parents[0] === undefined ? null : await treeOf(parents[0]);
    let merged: Merged = { tree: commit.tree, conflicts: [] };
    if (parentTree !== tree) {
      // A commit of the tree so far with the same parent makes that parent the merge base of both.
      const stand = { tree, parents, author: committer, committer, message: 'Stand in\n' };
      const ours = await writeCommit(repository, stand);
      merged = await mergeCommits(isolated, { ours, theirs: commit.id });
    }
    if (merged.conflicts.length > 0) return { conflicts: merged.conflicts, at: commit };
    const wasEmpty = commit.tree === parentTree;
    if (merged.tree === tree && !wasEmpty) continue;
    tree = merged.tree;
    tip = await writeCommit(repository, { ...commit, tree, parents: [tip], committer });
  }
  return { tip, tree };
}
