import type { MergeResult, PullRequest } from '../../api/worktree-merge.ts';
import { revealedLine } from '../../core/lib/plain.ts';
import type { Palette } from './palette.ts';

/** How many commits and files are shown of a plan that the user is not asked to accept. */
const SHOWN = 20;
/** How many digits of a commit. */
const SHORT = 8;

/** How a plan is shown. */
export interface MergeResultStyle {
  palette: Palette;
  /** Returns a refusal with the next step, if it is known. */
  withRemedy: (refusal: string) => string;
  /** Whether all commits and files of the plan are shown, for somebody who accepts the plan; else the first of each. */
  isWhole?: boolean;
}

const HOW: Record<MergeResult['how'], string> = {
  fast_forward: 'fast-forward',
  merge_commit: 'merge commit',
  squash: 'one squashed commit',
  replay: 'commits replayed',
  none: '',
};

export function mergeResultLines(plan: MergeResult, style: MergeResultStyle): string[] {
  const { worktree, target, outcome, how, obstacles, conflicts } = plan;
  const { palette } = style;
  const branch = exact(worktree.branch);
  const isRebase = how === 'replay' || plan.checkout === worktree.path;
  if (outcome === 'nothing_to_do')
    return [
      isRebase
        ? `nothing to do: ${branch} is already on top of ${exact(target)}`
        : `nothing to do: ${exact(target)} already contains ${branch}`,
    ];
  const moving = isRebase ? `${branch} onto ${exact(target)}` : `${branch} into ${exact(target)}`;
  const lines = [palette.strong(how === 'none' ? moving : `${moving}: ${HOW[how]}`)];
  lines.push(...commitLines(plan, style));
  lines.push(...fileLines(plan, style));
  if (plan.checkout !== null && how !== 'none')
    lines.push(`updates the files in ${exact(plan.checkout)}`);
  if (plan.committer !== null && how !== 'fast_forward' && how !== 'none')
    lines.push(`committed by ${exact(plan.committer)}`);
  lines.push(...plan.notes.map((note) => palette.warn(`note: ${exact(note)}`)));
  for (const { path, kind } of conflicts)
    lines.push(palette.bad(`conflict: ${exact(path)} (${exact(kind)})`));
  if (plan.conflict_in !== null) lines.push(`conflicting commit: ${exact(plan.conflict_in)}`);
  lines.push(...refusalLines(obstacles, style));
  if (conflicts.length > 0)
    lines.push(
      isRebase
        ? 'nothing was changed: merge instead, or rebase with git in the worktree'
        : `nothing was changed: merge ${exact(target)} in the worktree, resolve the conflicts and commit, then try again`,
    );
  return lines;
}

export function pullRequestLines(plan: PullRequest, style: MergeResultStyle): string[] {
  const { palette } = style;
  const { branch, target, remote, remote_url, pushed } = plan;
  const where = `${exact(remote)} (${exact(remote_url)})`;
  const lines = [
    palette.strong(`${exact(branch)} into ${exact(target)}, at ${where}`),
    pushed ? `${exact(branch)} is already pushed` : `${exact(branch)} will be pushed first`,
    `title: ${exact(plan.title)}${plan.draft ? ' (draft)' : ''}`,
    ...plan.body.split('\n').map((line) => `  | ${exact(line)}`),
    ...commitLines(plan, style),
    ...fileLines(plan, style),
    ...plan.notes.map((note) => palette.warn(`note: ${exact(note)}`)),
    ...refusalLines(plan.obstacles, style),
  ];
  if (!pushed && plan.obstacles.length > 0) lines.splice(1, 1);
  return lines;
}

/** Returns which lists the server has cut, such as `files: 500 of 980`; null if the plan has all. */
export function cutLists(plan: Shown): string | null {
  const lists = [
    ['commits', plan.commits, plan.commit_count],
    ['files', plan.files, plan.file_count],
    ['uncommitted', plan.uncommitted, plan.uncommitted_count],
  ] as const;
  const cut = lists.filter(([, list, count]) => count > list.length);
  if (cut.length === 0) return null;
  return cut.map(([name, list, count]) => `${name}: ${list.length} of ${count}`).join(', ');
}

type Shown = Pick<
  MergeResult,
  'commits' | 'commit_count' | 'files' | 'file_count' | 'uncommitted' | 'uncommitted_count'
>;

function commitLines(
  { commits, commit_count }: Shown,
  { palette, isWhole = false }: MergeResultStyle,
): string[] {
  const lines = commits
    .slice(0, isWhole ? undefined : SHOWN)
    .map((one) => `  ${palette.accent(one.commit.slice(0, SHORT))} ${exact(one.subject)}`);
  return withMore(`commits: ${commit_count}`, lines, commit_count);
}

function fileLines(
  { files, file_count, uncommitted, uncommitted_count }: Shown,
  { palette, isWhole = false }: MergeResultStyle,
): string[] {
  const end = isWhole ? undefined : SHOWN;
  const lines = files.slice(0, end).map(({ path, change, lines_added, lines_deleted }) => {
    const size =
      lines_added === null
        ? 'binary'
        : `${palette.added(`+${lines_added}`)} ${palette.removed(`-${lines_deleted}`)}`;
    return `  ${{ added: 'A', deleted: 'D', modified: 'M' }[change]} ${exact(path)} ${size}`;
  });
  const open = uncommitted.slice(0, end).map((name) => `  ${exact(name)}`);
  return [
    ...(file_count > 0 ? withMore(`files: ${file_count}`, lines, file_count) : []),
    ...(uncommitted_count > 0
      ? withMore(`uncommitted: ${uncommitted_count}`, open, uncommitted_count)
      : []),
  ];
}

function withMore(title: string, lines: readonly string[], count: number): string[] {
  return [title, ...lines, ...(count > lines.length ? [`  and ${count - lines.length} more`] : [])];
}

function refusalLines(
  obstacles: readonly string[],
  { palette, withRemedy }: MergeResultStyle,
): string[] {
  return obstacles.map((one) => palette.bad(`refused: ${exact(withRemedy(one))}`));
}

/** A text on one line, with each character that a terminal would hide or obey as its code point. */
function exact(text: string): string {
  return revealedLine(text).replaceAll('\t', '<U+0009>');
}
