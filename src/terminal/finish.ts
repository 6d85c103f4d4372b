import type { Finished, PullRequest } from '../api/worktree-finish.ts';
import { plain } from '../lib/plain.ts';
import type { Palette } from './palette.ts';

/** How many commits and files are shown to people. */
const SHOWN = 20;
/** How many digits of a commit. */
const SHORT = 8;

/** How a plan is shown. */
export interface FinishStyle {
  palette: Palette;
  /** What helps after a refusal; null: nothing that is known. */
  hintFor: (refusal: string) => string | null;
}

const HOW: Record<Finished['how'], string> = {
  fast_forward: 'moves forward',
  merge_commit: 'gets a commit that merges both',
  squash: 'gets one commit of all',
  replay: 'is written again',
  none: '',
};

/** What a merge or a rebase would do, line by line. */
export function finishLines(plan: Finished, style: FinishStyle): string[] {
  const { worktree, target, outcome, how, obstacles, conflicts } = plan;
  const { palette } = style;
  const branch = plain(worktree.branch);
  const isRebase = how === 'replay' || plan.checkout === worktree.path;
  if (outcome === 'nothing_to_do')
    return [
      isRebase
        ? `nothing to do: ${branch} is on top of ${plain(target)}`
        : `nothing to do: ${plain(target)} has all of ${branch}`,
    ];
  const moving = isRebase ? `${branch} onto ${plain(target)}` : `${branch} into ${plain(target)}`;
  const moved = isRebase ? branch : plain(target);
  const lines = [palette.strong(how === 'none' ? moving : `${moving}: ${moved} ${HOW[how]}`)];
  lines.push(...commitLines(plan, style));
  lines.push(...fileLines(plan, style));
  if (plan.checkout !== null && how !== 'none')
    lines.push(`the files in ${plain(plan.checkout)} follow`);
  if (plan.committer !== null && how !== 'fast_forward' && how !== 'none')
    lines.push(`committed by ${plain(plan.committer)}`);
  lines.push(...plan.notes.map((note) => palette.warn(`note: ${plain(note)}`)));
  for (const { path, kind } of conflicts)
    lines.push(palette.bad(`conflict: ${plain(path)} (${plain(kind)})`));
  if (plan.conflict_in !== null) lines.push(`the conflict is in ${plain(plan.conflict_in)}`);
  lines.push(...refusalLines(obstacles, style));
  if (conflicts.length > 0)
    lines.push(
      isRebase
        ? 'nothing is changed: merge it instead, or rebase with git in the worktree'
        : `nothing is changed: merge ${plain(target)} in the worktree, resolve and commit there, then try again`,
    );
  return lines;
}

/** What a pull request would be, line by line. */
export function pullRequestLines(plan: PullRequest, style: FinishStyle): string[] {
  const { palette } = style;
  const { branch, target, remote, remote_url, pushed } = plan;
  const where = `${plain(remote)} (${plain(remote_url)})`;
  const lines = [
    palette.strong(`${plain(branch)} into ${plain(target)}, at ${where}`),
    pushed ? `${plain(branch)} is there already` : `${plain(branch)} is pushed there first`,
    `title: ${plain(plan.title)}${plan.draft ? ' (draft)' : ''}`,
    ...plan.body.split('\n').map((line) => `  | ${plain(line)}`),
    ...commitLines(plan, style),
    ...fileLines(plan, style),
    ...plan.notes.map((note) => palette.warn(`note: ${plain(note)}`)),
    ...refusalLines(plan.obstacles, style),
  ];
  if (!pushed && plan.obstacles.length > 0) lines.splice(1, 1);
  return lines;
}

type Shown = Pick<
  Finished,
  'commits' | 'commit_count' | 'files' | 'file_count' | 'uncommitted' | 'uncommitted_count'
>;

function commitLines({ commits, commit_count }: Shown, { palette }: FinishStyle): string[] {
  const lines = commits
    .slice(0, SHOWN)
    .map((one) => `  ${palette.accent(one.commit.slice(0, SHORT))} ${plain(one.subject)}`);
  return withMore(`commits: ${commit_count}`, lines, commit_count);
}

function fileLines(
  { files, file_count, uncommitted, uncommitted_count }: Shown,
  { palette }: FinishStyle,
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
    ...(file_count > 0 ? withMore(`files: ${file_count}`, lines, file_count) : []),
    ...(uncommitted_count > 0
      ? withMore(`not committed: ${uncommitted_count}`, open, uncommitted_count)
      : []),
  ];
}

function withMore(title: string, lines: readonly string[], count: number): string[] {
  return [title, ...lines, ...(count > lines.length ? [`  and ${count - lines.length} more`] : [])];
}

function refusalLines(obstacles: readonly string[], { palette, hintFor }: FinishStyle): string[] {
  return obstacles.map((one) => {
    const hint = hintFor(one);
    return palette.bad(`refused: ${plain(one)}${hint === null ? '' : `, ${hint}`}`);
  });
}
