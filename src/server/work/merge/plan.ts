import type { MergeResult } from '../../../api/worktree-merge.ts';
import { isOn, type Setting, settingsAt } from '../git/isolated-git-dir.ts';
import type { Git } from '../git/git.ts';
import { refsOf, type Repository } from '../git/repository.ts';
import type { GitContext } from '../git/git-context.ts';
import {
  changesOf,
  type Checkout,
  type Difference,
  inTheWay,
  isAt,
  underWayIn,
} from './checkout.ts';
import { type Commit, type Person, personOf, toBytes, toText } from './commits.ts';
import type { Moves } from './moves.ts';
import { firstOf, hooksOf, NAMES } from './merge-view.ts';
import { filtersMessage, type MergeSource } from './merge-source.ts';

/** An answer without the record of the worktree. */
export type MergePlanView = {
  [
    K in keyof MergeResult as string extends K ? never : K extends 'worktree' ? never : K
  ]: MergeResult[K];
};

/** What would happen, and how to make it happen. */
export interface Plan {
  shown: MergePlanView;
  /** Null if nothing is to move, or nothing can. */
  moves: Omit<Moves, 'id'> | null;
  /** Throws `conflict` if something has changed that stands against the moves. */
  check: () => Promise<void>;
}

/** Returns why a checkout cannot follow its branch from `head`; `differences` are the files that would change. */
export async function checkoutProblems(
  gitContext: GitContext,
  repository: Repository,
  checkout: Checkout,
  about: { branch: string; head: string; differences: readonly Difference[]; mayBeDirty?: boolean },
): Promise<string[]> {
  const { branch, head, differences, mayBeDirty = false } = about;
  const { files } = checkout;
  if (!(await isAt(checkout, branch))) return [`${branch} is no longer checked out in ${files}`];
  const found: string[] = [];
  const underWay = await underWayIn(checkout.gitDir);
  if (underWay !== null)
    found.push(`${underWay} is in progress in ${files}: finish or abort it first`);
  const changes = await gitContext.withScratch({ id: 'checkout' }, (scratch) =>
    changesOf(gitContext, repository, checkout, { head, scratch }),
  );
  if (changes.isSparse) found.push(`${files} is a sparse checkout: use git itself there`);
  if (changes.tracked.length > 0 && !mayBeDirty)
    found.push(
      `${files}, where ${branch} is checked out, has uncommitted changes (${firstOf(changes.tracked.map(toText))}): commit or stash them first`,
    );
  if (changes.isFiltered) found.push(filtersMessage(repository));
  const taken = await inTheWay(checkout, differences);
  if (taken.length > 0)
    found.push(
      `untracked files in ${files} would be overwritten (${firstOf(taken)}): move them away`,
    );
  return found;
}

/** Whether one commit has all that another has. */
export async function contains(
  git: Git,
  repository: Repository,
  { ancestor, commit }: { ancestor: string; commit: string },
): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', ancestor, commit];
  return (await git.maybe(refsOf(repository), args)) !== null;
}

/** Who commits and what is worth knowing about it. */
export interface Committing {
  person: Person | null;
  settings: readonly Setting[];
  hooks: string[];
  isSignatureWanted: boolean;
}

export async function committingIn(git: Git, repository: Repository): Promise<Committing> {
  const { own, all } = await settingsAt(git, repository, null);
  return {
    person: personOf(all),
    settings: own,
    hooks: await hooksOf(repository, own),
    isSignatureWanted: isOn(all, 'commit.gpgsign'),
  };
}

/** Says who commits; null: git does not know. */
export function committerText({ person }: Committing): string | null {
  return person === null ? null : toText(`${person.name} <${person.email}>`);
}

export const NO_PERSON =
  'git has no committer: set user.name and user.email, with git config --global';

/** Returns what is worth knowing about hooks, signatures, merge drivers and submodules. */
export function notesOf(
  { hooks, isSignatureWanted, settings }: Committing,
  about: {
    commits: boolean;
    signed: readonly Commit[];
    differences: readonly Difference[];
  },
): string[] {
  const found: string[] = [];
  if (hooks.length > 0) found.push(`git hooks of the repository do not run: ${hooks.join(', ')}`);
  if (about.commits && isSignatureWanted)
    found.push('the new commits are not signed, although commit.gpgSign is set');
  if (about.signed.some(({ isSigned }) => isSigned))
    found.push('signed commits lose their signatures');
  if (settings.some(([name]) => /^merge\..+\.driver$/.test(name)))
    found.push('merge drivers in the git configuration of the repository do not run');
  const modules = about.differences.filter(
    ({ before, after }) => before.mode === '160000' || after.mode === '160000',
  );
  if (modules.length > 0)
    found.push(
      `submodules change, but their files are not updated: git submodule update (${firstOf(modules.map((one) => toText(one.path)))})`,
    );
  return found;
}

/** Ends a message as git does, with one line break; encodes it with one character for each byte. */
export function messageBytes(text: string): string {
  return toBytes(`${text.trimEnd()}\n`);
}

/** What of a source an answer shows. */
export function uncommittedOf({ uncommitted }: MergeSource) {
  return { uncommitted: uncommitted.slice(0, NAMES), uncommitted_count: uncommitted.length };
}
