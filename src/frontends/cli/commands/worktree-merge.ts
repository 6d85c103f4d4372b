import type { BodyInputOf } from '../../../api/endpoint.ts';
import { endpoints } from '../../../api/index.ts';
import type { MergeResult, PullRequest } from '../../../api/worktree-merge.ts';
import { usageError } from '../../../api/errors.ts';
import { cutLists, mergeResultLines, pullRequestLines } from '../../terminal/merge-result.ts';
import { askYes } from '../choose.ts';
import { clientCommand, type Register } from '../command.ts';
import { exitCodes } from '../exit.ts';
import { worktreeArgument, worktreeId } from '../find.ts';
import { withCommand } from '../hints.ts';
import { plain } from '../output.ts';
import { canAsk, type CommandContext, type CommandIo } from '../command-io.ts';

export const mergeCommands: readonly Register[] = [
  clientCommand({
    name: 'merge',
    description: 'Merge the branch of a worktree, after a preview and a confirmation',
    parameters: [
      worktreeArgument,
      '--into <branch>  Target branch of the merge (default: the branch that the worktree was created from)',
      '--squash  Squash all commits of the branch into one commit',
      '-m, --message <text>  Message of the merge commit (default: the message that git generates)',
      '--commit <message>  First commit the uncommitted changes of the worktree with this commit message',
      '--dry-run  Show the preview of the result, and change nothing',
      '--yes  Skip the confirmation',
    ],
    async run(context, reference: string, options: MergeCommandOptions) {
      const { client, io } = context;
      const params = { worktree_id: await worktreeId(client, reference) };
      const { into, squash, message, commit: commit_message } = options;
      const request = { into, squash, message, commit_message };
      await finish(context, options, (more) =>
        client.call(
          endpoints.mergeWorktree,
          { params, body: { ...request, ...more } },
          io.interrupted(),
        ),
      );
    },
  }),
  clientCommand({
    name: 'rebase',
    description: 'Rebase the branch of a worktree, after a preview and a confirmation',
    parameters: [
      worktreeArgument,
      '--onto <branch>  Branch to rebase onto (default: the branch that the worktree was created from)',
      '--commit <message>  First commit the uncommitted changes of the worktree with this commit message',
      '--dry-run  Show the preview of the result, and change nothing',
      '--yes  Skip the confirmation',
    ],
    async run(context, reference: string, options: MergeOptions & { onto?: string }) {
      const { client, io } = context;
      const params = { worktree_id: await worktreeId(client, reference) };
      const request = { onto: options.onto, commit_message: options.commit };
      await finish(context, options, (more) =>
        client.call(
          endpoints.rebaseWorktree,
          { params, body: { ...request, ...more } },
          io.interrupted(),
        ),
      );
    },
  }),
  clientCommand({
    name: 'pr',
    description:
      'Open a pull request for a worktree with the GitHub CLI (gh), after a preview and a confirmation',
    parameters: [
      worktreeArgument,
      '--into <branch>  Target branch of the pull request (default: the branch that the worktree was created from)',
      '--remote <name>  Git remote of the branch (default: origin)',
      '--push  Push the branch to the git remote before opening the pull request',
      '--title <text>  Title of the pull request (default: the subject of the only commit, or the name of the worktree)',
      '--body <text>  Body of the pull request (default: the subjects of the commits)',
      '--draft  Open the pull request as a draft',
      '--dry-run  Show the preview of the result, and change nothing',
      '--yes  Skip the confirmation',
    ],
    async run(context, reference: string, { dryRun, yes, ...request }: PullRequestOptions) {
      const { client, show, io } = context;
      const style = styleIn(context);
      const params = { worktree_id: await worktreeId(client, reference) };
      const call = (more: object): Promise<PullRequest> =>
        client.call(
          endpoints.openPullRequest,
          { params, body: { ...request, ...more } },
          io.interrupted(),
        );
      const plan = await call({ dry_run: true });
      const isRefused = plan.obstacles.length > 0;
      if (isRefused || dryRun) {
        show(plan, () => textOf(pullRequestLines(plan, style)));
        if (isRefused) io.exit(exitCodes.conflict);
        return;
      }
      const isWanted = await mayDo(context, { yes }, plan, (isWhole) =>
        pullRequestLines(plan, { ...style, isWhole }),
      );
      if (!isWanted) return show(plan, () => 'Nothing was changed\n');
      const { source_commit: expected_commit, remote_url: expected_url } = plan;
      const { title, body } = plan;
      const done = await call({ dry_run: false, expected_commit, expected_url, title, body });
      show(done, () => `${done.url ?? ''}\n`);
    },
  }),
];

function styleIn({ layout, global }: CommandContext) {
  return { ...layout, withRemedy: (message: string) => withCommand(message, global) };
}

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

type Ask = Pick<BodyInputOf<typeof endpoints.mergeWorktree>, 'dry_run' | 'expected_tree'>;

/** Shows what would happen, asks, and lets exactly that happen. */
async function finish(
  context: CommandContext,
  options: MergeOptions,
  call: (more: Ask) => Promise<MergeResult>,
): Promise<void> {
  const { show, io } = context;
  const style = styleIn(context);
  const plan = await call({ dry_run: true });
  const { outcome, conflicts, obstacles } = plan;
  const isRefused = conflicts.length > 0 || obstacles.length > 0;
  if (outcome === 'nothing_to_do' || isRefused || options.dryRun) {
    show(plan, () => textOf(mergeResultLines(plan, style)));
    if (isRefused) io.exit(exitCodes.conflict);
    return;
  }
  const isWanted = await mayDo(context, options, plan, (isWhole) =>
    mergeResultLines(plan, { ...style, isWhole }),
  );
  if (!isWanted) return show(plan, () => 'Nothing was changed\n');
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

/**
 * Shows a plan on stderr and asks: the whole plan, page by page. Throws `usage` if nobody can be asked, or not about the
 * whole plan, and nobody has said yes.
 */
async function mayDo(
  { io, global }: CommandContext,
  { yes }: { yes?: boolean | undefined },
  plan: MergeResult | PullRequest,
  linesOf: (isWhole: boolean) => string[],
): Promise<boolean> {
  const cut = cutLists(plan);
  if (yes || !canAsk(io) || cut !== null) {
    if (!yes || !global.json) io.stderr.write(textOf(linesOf(false)));
    if (yes) return true;
    throw usageError(
      canAsk(io)
        ? `the list of changes is incomplete (${cut}): look at the rest with git log and git diff, then pass --yes`
        : 'not a terminal: pass --yes to confirm, or --dry-run to show the preview only',
    );
  }
  if (!(await showWhole(io, linesOf(true)))) return false;
  return askYes(io, 'continue? [y/N] ', false, io.interrupted());
}

/** Shows lines on stderr, page by page if they do not fit. Returns whether the last line was shown. */
async function showWhole(io: CommandIo, lines: readonly string[]): Promise<boolean> {
  const { wrapped } = await import('../../terminal/width.ts');
  const { rows = 24, columns = 80 } = io.stderr as Partial<NodeJS.WriteStream>;
  const shown = lines.flatMap((line) => wrapped(line, columns, { trims: false }));
  if (shown.length < rows) {
    io.stderr.write(textOf(shown));
    return true;
  }
  const [{ showToEnd }, { terminalOf }] = await Promise.all([
    import('../session/key-question.ts'),
    import('../session/terminal.ts'),
  ]);
  const terminal = terminalOf(io);
  if (!terminal)
    throw usageError(
      'cannot ask for confirmation, because the command does not run in the foreground of a terminal: pass --yes',
    );
  return showToEnd(terminal, shown, io.interrupted());
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

function doneText({ worktree, target, how, result_commit, ...done }: MergeResult): string {
  const commit = (result_commit ?? '').slice(0, 8);
  if (how === 'replay' || done.checkout === worktree.path)
    return `Rebased ${plain(worktree.branch)} onto ${plain(target)}: now at ${commit}, before at ${done.source_commit.slice(0, 8)}\n`;
  const name = plain(worktree.worktree_name);
  return (
    `Merged ${name} into ${plain(target)}: now at ${commit}, before at ${done.target_commit.slice(0, 8)}\n` +
    `The worktree is kept: remove it with cadre worktrees cleanup ${name} when no session needs it\n`
  );
}
