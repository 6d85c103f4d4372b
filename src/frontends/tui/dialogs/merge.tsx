import { type ReactNode, useContext, useState } from 'react';
import { AppError } from '../../../api/errors.ts';
import { endpoints } from '../../../api/index.ts';
import type { MergeResult } from '../../../api/worktree-merge.ts';
import type { Client } from '../../../client/client.ts';
import { oneLine, plain } from '../../../core/lib/plain.ts';
import { cutLists, mergeResultLines } from '../../terminal/merge-result.ts';
import { wrapped } from '../../terminal/width.ts';
import { useKeys } from '../keyboard.ts';
import { Prompt } from '../prompt.tsx';
import { useRead } from '../react-hooks.ts';
import type { DialogProps } from '../screen/screen-context.ts';
import { Colors } from '../styled-text.tsx';
import { Frame, Lines, useScroll } from './dialog.tsx';
import { counted } from '../../../core/lib/counted.ts';

interface MergeDialogProps extends DialogProps {
  worktreeId: string;
}

/** The plan of a merge, squash or rebase of a worktree. One key carries out the plan once its end was shown. */
export function MergeDialog(props: MergeDialogProps): ReactNode {
  const { worktreeId, context, notices, rows, columns, onLeave } = props;
  const palette = useContext(Colors);
  // A new object with each key, so that the same key looks again.
  const [request, setRequest] = useState<MergeRequest>({ how: 'merge', commit_message: null });
  const [isNaming, setNaming] = useState(false);
  const { how } = request;
  const choose = (next: MergeAction) => () => setRequest({ ...request, how: next });
  const { plan, problem } = usePlan(props, request);
  const text = plan
    ? mergeResultLines(plan, { palette, withRemedy: (refusal) => refusal, isWhole: true })
    : [problem ?? 'Checking …'];
  const lines = text.flatMap((line) => wrapped(line, columns, { trims: !line.startsWith(' ') }));
  const { top, unread, keys } = useScroll(lines.length, rows - 1, plan);
  const act = () => {
    if (!plan || !mayHappen(plan) || missingPart(plan, unread) !== null) return;
    const work = async () => {
      const tree = { expected_tree: plan.result_tree };
      const done = await mergeOrRebase(context.client, worktreeId, request, tree);
      notices.showNotice(mergedText(done, how));
    };
    notices.attempt(work());
    onLeave();
  };
  const isOpen = (plan?.uncommitted_count ?? 0) > 0;
  useKeys(
    {
      ...keys,
      y: act,
      m: choose('merge'),
      s: choose('squash'),
      b: choose('rebase'),
      c: () => setNaming(isOpen),
      escape: onLeave,
      q: onLeave,
      M: onLeave,
    },
    !isNaming,
  );
  const why = plan && missingPart(plan, unread);
  const doing = plan && mayHappen(plan) ? `${why ?? 'y confirm'}  ` : '';
  const footer = isNaming ? (
    <Prompt
      question="Commit message:"
      columns={columns}
      onAnswer={(text) => {
        setNaming(false);
        if (text !== '') setRequest({ ...request, commit_message: text });
      }}
      onCancel={() => setNaming(false)}
    />
  ) : (
    `${doing}m merge  s squash  b rebase  ${isOpen ? 'c commit all  ' : ''}esc back`
  );
  return (
    <Frame rows={rows} footer={footer}>
      <Lines lines={lines} top={top} height={rows - 1} />
    </Frame>
  );
}

function mergedText(
  { worktree, target, commit_count: count }: MergeResult,
  how: MergeAction,
): string {
  const [branch, other] = [oneLine(worktree.branch), oneLine(target)];
  const commits = counted(count, 'commit');
  return how === 'rebase'
    ? `Rebased ${branch} onto ${other} (${commits})`
    : `Merged ${branch} into ${other} (${commits}); the worktree is kept`;
}

/** The part of a plan that was not shown yet, so that the plan cannot be confirmed; null if all was shown. */
function missingPart(plan: MergeResult, unread: number): string | null {
  if (unread > 0) return `space ${counted(unread, 'more line')}`;
  const cut = cutLists(plan);
  return cut === null ? null : `incomplete (${cut}): use cadre worktrees merge --yes`;
}

function mayHappen({ outcome, conflicts, obstacles }: MergeResult): boolean {
  return outcome === 'planned' && conflicts.length === 0 && obstacles.length === 0;
}

type MergeAction = 'merge' | 'squash' | 'rebase';

interface MergeRequest {
  how: MergeAction;
  /** The message of a commit of all changes of the worktree, which comes first; null: nothing is committed. */
  commit_message: string | null;
}

/** The plan of a merge, or the reason why the merge has no plan. Empty until the server has answered. */
function usePlan(
  { worktreeId, context: { client }, notices }: MergeDialogProps,
  request: MergeRequest,
): { plan: MergeResult | null; problem: string | null } {
  const answer = useRead(notices, [client, worktreeId, request], async () => {
    try {
      const plan = await mergeOrRebase(client, worktreeId, request, null);
      return { request, plan, problem: null };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { request, plan: null, problem: plain(error.message) };
    }
  });
  return answer?.request === request ? answer : { plan: null, problem: null };
}

/** Merges or rebases a worktree; without `tree`, plans that. */
function mergeOrRebase(
  client: Client,
  worktree_id: string,
  { how, commit_message }: MergeRequest,
  tree: { expected_tree: string | null } | null,
): Promise<MergeResult> {
  const params = { worktree_id };
  const body = {
    commit_message,
    ...(tree === null ? { dry_run: true } : { dry_run: false, ...tree }),
  };
  if (how === 'rebase') return client.call(endpoints.rebaseWorktree, { params, body });
  const squash = how === 'squash';
  return client.call(endpoints.mergeWorktree, { params, body: { ...body, squash } });
}
