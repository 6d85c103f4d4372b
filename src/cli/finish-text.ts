import type { Finished, PullRequest } from '../api/worktree-finish.ts';
import { commandFor } from './hints.ts';
import type { Layout } from './layout.ts';
import { plain } from './output.ts';

/** How many commits and files are shown to people. */
const SHOWN = 20;

const HOW: Record<Finished['how'], string> = {
  fast_forward: 'moves forward',
  merge_commit: 'gets a commit that merges both',
  squash: 'gets one commit of all',
  replay: 'is written again',
  none: '',
};

/** What a merge or a rebase would do. */
export function finishText(plan: Finished, layout: Layout): string {
  const { worktree, target, outcome, how, obstacles, conflicts } = plan;
  const { palette } = layout;
  const branch = plain(worktree.branch);
  if (outcome === 'nothing_to_do') return `nothing to do: ${plain(target)} and ${branch} agree\n`;
  const isRebase = how === 'replay' || plan.checkout === worktree.path;
  const moving = isRebase ? `${branch} onto ${plain(target)}` : `${branch} into ${plain(target)}`;
  const moved = isRebase ? branch : plain(target);
  const lines = [palette.strong(how === 'none' ? moving : `${moving}: ${moved} ${HOW[how]}`)];
  lines.push(...commitLines(plan, layout));
  lines.push(...fileLines(plan, layout));
  if (plan.checkout !== null) lines.push(`the files in ${plain(plan.checkout)} follow`);
  if (plan.committer !== null && how !== 'fast_forward')
    lines.push(`committed by ${plain(plan.committer)}`);
  lines.push(...plan.notes.map((note) => palette.warn(`note: ${plain(note)}`)));
  for (const { path, kind } of conflicts)
    lines.push(palette.bad(`conflict: ${plain(path)} (${plain(kind)})`));
  if (plan.conflict_in !== null) lines.push(`the conflict is in ${plain(plan.conflict_in)}`);
  lines.push(...refusalLines(obstacles, layout));
  if (conflicts.length > 0)
    lines.push(
      isRebase
        ? 'nothing is changed: merge it instead, or rebase with git in the worktree'
        : `nothing is changed: merge ${plain(target)} in the worktree, resolve and commit there, then try again`,
    );
  return `${lines.join('\n')}\n`;
}

/** What a merge or a rebase has done, and what to do with the worktree. */
export function doneText({ worktree, target, how, result_commit, ...done }: Finished): string {
  const commit = (result_commit ?? '').slice(0, 12);
  if (how === 'replay' || done.checkout === worktree.path)
    return `rebased: ${plain(worktree.branch)} is at ${commit}, on top of ${plain(target)}; it was at ${done.source_commit.slice(0, 12)}\n`;
  const name = plain(worktree.worktree_name);
  return (
    `merged: ${plain(target)} is at ${commit}; it was at ${done.target_commit.slice(0, 12)}\n` +
    `the worktree stays: once no session needs it, cadre worktrees cleanup ${name} removes it\n`
  );
}

/** What a pull request would be. */
export function pullRequestText(plan: PullRequest, layout: Layout): string {
  const { palette } = layout;
  const { branch, target, remote, remote_url, pushed } = plan;
  const where = `${plain(remote)} (${plain(remote_url)})`;
  const lines = [
    palette.strong(`${plain(branch)} into ${plain(target)}, at ${where}`),
    pushed ? `${plain(branch)} is there already` : `${plain(branch)} is pushed there first`,
    `title: ${plain(plan.title)}${plan.draft ? ' (draft)' : ''}`,
    ...plan.body.split('\n').map((line) => `  | ${plain(line)}`),
    ...commitLines(plan, layout),
    ...fileLines(plan, layout),
    ...plan.notes.map((note) => palette.warn(`note: ${plain(note)}`)),
    ...refusalLines(plan.obstacles, layout),
  ];
  if (!pushed && plan.obstacles.length > 0) lines.splice(1, 1);
  return `${lines.join('\n')}\n`;
}

type Shown = Pick<
  Finished,
  'commits' | 'commit_count' | 'files' | 'file_count' | 'uncommitted' | 'uncommitted_count'
>;

function commitLines({ commits, commit_count }: Shown, { palette }: Layout): string[] {
  const lines = commits
    .slice(0, SHOWN)
    .map((one) => `  ${palette.accent(one.commit.slice(0, 12))} ${plain(one.subject)}`);
  return withMore(`commits: ${commit_count}`, lines, commit_count);
}

function fileLines(
  { files, file_count, uncommitted, uncommitted_count }: Shown,
  { palette }: Layout,
): string[] {
  const lines = files.slice(0, SHOWN).map(({ path, change, lines_added, lines_deleted }) => {
    const size =
      lines_added === null
        ? 'binary'
        : `${palette.added(`+${lines_added}`)} ${palette.removed(`-${lines_deleted}`)}`;
    return `  ${{ added: 'A', deleted: 'D', modified: 'M' }[change]} ${plain(path)} ${size}`;
  });
  const open = uncommitted.slice(0, SHOWN).map((name) => `  ${plain(name)}`);
  return [
    ...withMore(`files: ${file_count}`, lines, file_count),
    ...(uncommitted_count > 0
      ? withMore(`not committed: ${uncommitted_count}`, open, uncommitted_count)
      : []),
  ];
}

function withMore(title: string, lines: readonly string[], count: number): string[] {
  return [title, ...lines, ...(count > lines.length ? [`  and ${count - lines.length} more`] : [])];
}

function refusalLines(obstacles: readonly string[], { palette }: Layout): string[] {
  return obstacles.map((one) => {
    const hint = commandFor(one);
    return palette.bad(`refused: ${plain(one)}${hint === null ? '' : `, ${hint}`}`);
  });
}
