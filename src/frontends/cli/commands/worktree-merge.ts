import type { BodyInputOf } from '../../../api/endpoint.ts';
import { endpoints } from '../../../api/index.ts';
import type { MergeResult, PullRequest } from '../../../api/worktree-merge.ts';
import { AppError } from '../../../api/errors.ts';
import { mergeResultLines, pullRequestLines } from '../../terminal/merge-result.ts';
import { askYes } from '../ask-yes.ts';
import type { Register } from '../endpoint-command.ts';
import { exitCodes } from '../exit.ts';
import { worktreeArgument, worktreeId } from '../find.ts';
import { commandFor } from '../hints.ts';
import { plain } from '../output.ts';
import { clientAction, type CommandContext } from '../world.ts';

/** `cadre worktrees merge | rebase | pr`. */
export const mergeCommands: readonly Register[] = [
  (worktrees, world) =>
    worktrees
      .command('merge')
      .description('show what a merge of a worktree would do, ask, and merge it')
      .argument(...worktreeArgument)
      .option('--into <branch>', 'the branch that gets it (default: where it began)')
      .option('--squash', 'make one commit of all')
      .option('-m, --message <text>', 'of the commit of the merge; without it git words it')
      .option('--commit <message>', 'first commit what is not committed in the worktree')
      .option('--dry-run', 'only show what would happen')
      .option('--yes', 'do it without asking')
      .action(clientAction(world, merge)),
  (worktrees, world) =>
    worktrees
      .command('rebase')
      .description('show what a rebase of a worktree would do, ask, and write its commits again')
      .argument(...worktreeArgument)
      .option('--onto <branch>', 'the branch to put them on (default: where it began)')
      .option('--commit <message>', 'first commit what is not committed in the worktree')
      .option('--dry-run', 'only show what would happen')
      .option('--yes', 'do it without asking')
      .action(clientAction(world, rebase)),
  (worktrees, world) =>
    worktrees
      .command('pr')
      .description('show the pull request of a worktree, ask, and open it with gh')
      .argument(...worktreeArgument)
      .option('--into <branch>', 'the branch that is to get it (default: where it began)')
      .option('--remote <name>', 'the remote (default: origin)')
      .option('--push', 'push its branch there first')
      .option('--title <text>', 'of the pull request (default: its only commit, or its name)')
      .option('--body <text>', 'of the pull request (default: the subjects of its commits)')
      .option('--draft', 'open it as a draft')
      .option('--dry-run', 'only show what would happen')
      .option('--yes', 'do it without asking')
      .action(clientAction(world, openPullRequest)),
];

interface MergeOptions {
  commit?: string;
  dryRun?: boolean;
  yes?: boolean;
}

interface MergeCommandOptions extends MergeOptions {
  into?: string;
  squash?: boolean;
  message?: string;
}

async function merge(
  context: CommandContext,
  said: string,
  options: MergeCommandOptions,
): Promise<void> {
  const { client } = context;
  const params = { worktree_id: await worktreeId(client, said) };
  const { into, squash, message, commit: commit_message } = options;
  const wish = { into, squash, message, commit_message };
  await finish(context, options, (more) =>
    client.call(endpoints.mergeWorktree, { params, body: { ...wish, ...more } }),
  );
}

async function rebase(
  context: CommandContext,
  said: string,
  options: MergeOptions & { onto?: string },
): Promise<void> {
  const { client } = context;
  const params = { worktree_id: await worktreeId(client, said) };
  const wish = { onto: options.onto, commit_message: options.commit };
  await finish(context, options, (more) =>
    client.call(endpoints.rebaseWorktree, { params, body: { ...wish, ...more } }),
  );
}

type Ask = Pick<BodyInputOf<typeof endpoints.mergeWorktree>, 'dry_run' | 'expected_tree'>;

/** Shows what would happen, asks, and lets exactly that happen. */
async function finish(
  context: CommandContext,
  options: MergeOptions,
  call: (more: Ask) => Promise<MergeResult>,
): Promise<void> {
  const { show, layout, world } = context;
  const style = { ...layout, hintFor: commandFor };
  const plan = await call({ dry_run: true });
  const { outcome, conflicts, obstacles } = plan;
  const isRefused = conflicts.length > 0 || obstacles.length > 0;
  if (outcome === 'nothing_to_do' || isRefused || options.dryRun) {
    show(plan, () => textOf(mergeResultLines(plan, style)));
    if (isRefused) world.exit(exitCodes.conflict);
    return;
  }
  const isWanted = await mayDo(context, options, textOf(mergeResultLines(plan, style)));
  if (!isWanted) return show(plan, () => 'nothing was changed\n');
  const done = await call({ dry_run: false, expected_tree: plan.result_tree });
  show(done, () => doneText(done));
}

interface PullRequestOptions {
  into?: string;
  remote?: string;
  push?: boolean;
  title?: string;
  body?: string;
  draft?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

async function openPullRequest(
  context: CommandContext,
  said: string,
  { dryRun, yes, ...wish }: PullRequestOptions,
): Promise<void> {
  const { client, show, layout, world } = context;
  const style = { ...layout, hintFor: commandFor };
  const params = { worktree_id: await worktreeId(client, said) };
  const call = (more: object): Promise<PullRequest> =>
    client.call(endpoints.openPullRequest, { params, body: { ...wish, ...more } });
  const plan = await call({ dry_run: true });
  const isRefused = plan.obstacles.length > 0;
  if (isRefused || dryRun) {
    show(plan, () => textOf(pullRequestLines(plan, style)));
    if (isRefused) world.exit(exitCodes.conflict);
    return;
  }
  const isWanted = await mayDo(context, { yes }, textOf(pullRequestLines(plan, style)));
  if (!isWanted) return show(plan, () => 'nothing was changed\n');
  const { source_commit: expected_commit, remote_url: expected_url } = plan;
  const { title, body } = plan;
  const done = await call({ dry_run: false, expected_commit, expected_url, title, body });
  show(done, () => `${done.url ?? ''}\n`);
}

/** Shows a plan on stderr and asks. Throws `usage` where nobody can be asked and nobody has said yes. */
async function mayDo(
  { world, global }: CommandContext,
  { yes }: { yes?: boolean | undefined },
  text: string,
): Promise<boolean> {
  if (!yes || !global.json) world.stderr.write(text);
  if (yes) return true;
  if (!world.stdin.isTTY || !world.stderr.isTTY)
    throw new AppError(
      'usage',
      'stdin or stderr is no terminal, so nobody can be asked: pass --yes, or --dry-run to look only',
    );
  return askYes(world, 'do it? [y/N] ');
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** What a merge or a rebase has done, and what to do with the worktree. */
function doneText({ worktree, target, how, result_commit, ...done }: MergeResult): string {
  const commit = (result_commit ?? '').slice(0, 8);
  if (how === 'replay' || done.checkout === worktree.path)
    return `rebased: ${plain(worktree.branch)} is at ${commit}, on top of ${plain(target)}; it was at ${done.source_commit.slice(0, 8)}\n`;
  const name = plain(worktree.worktree_name);
  return (
    `merged: ${plain(target)} is at ${commit}; it was at ${done.target_commit.slice(0, 8)}\n` +
    `the worktree stays: once no session needs it, cadre worktrees cleanup ${name} removes it\n`
  );
}
