import { Box } from 'ink';
import { type ReactNode, useContext, useState } from 'react';
import { AppError } from '../../../api/errors.ts';
import type { MergeResult } from '../../../api/worktree-merge.ts';
import { oneLine, plain } from '../../../core/lib/plain.ts';
import { cutLists, mergeResultLines } from '../../terminal/merge-result.ts';
import { wrapped } from '../../terminal/width.ts';
import type { MergeAction } from '../acts.ts';
import { useKeys } from '../keyboard.ts';
import { Colors } from '../palette.ts';
import { Prompt } from '../prompt.tsx';
import { useRead } from '../react-hooks.ts';
import type { DialogProps } from '../screen/screen-context.ts';
import { Tint } from '../tint.tsx';
import { Lines } from './lines.tsx';
import { useScroll } from './scroll.ts';
import { counted } from '../../../core/lib/counted.ts';

interface MergeDialogProps extends DialogProps {
  worktreeId: string;
}

/** The plan of a merge, squash or rebase of a worktree. One key carries out the plan once its end was shown. */
export function MergeDialog(props: MergeDialogProps): ReactNode {
  const { worktreeId, place, notices, rows, columns, onLeave } = props;
  const palette = useContext(Colors);
  // A new object with each key, so that the same key looks again.
  const [wished, setWish] = useState<Wished>({ how: 'merge', commit_message: null });
  const [isNaming, setNaming] = useState(false);
  const { how } = wished;
  const wish = (next: MergeAction) => () => setWish({ ...wished, how: next });
  const { plan, problem } = usePlan(props, wished);
  const text = plan
    ? mergeResultLines(plan, { palette, hintFor: () => null, isWhole: true })
    : [problem ?? 'Checking …'];
  const lines = text.flatMap((line) => wrapped(line, columns, { trims: !line.startsWith(' ') }));
  const { top, unread, keys } = useScroll(lines.length, rows - 1, plan);
  const act = () => {
    if (!plan || !mayHappen(plan) || obstacle(plan, unread) !== null) return;
    const work = async () => {
      const done = await place.acts.mergeOrRebase(worktreeId, wished, {
        expected_tree: plan.result_tree,
      });
      notices.tell(mergedText(done, how));
    };
    notices.attempt(work());
    onLeave();
  };
  const isOpen = (plan?.uncommitted_count ?? 0) > 0;
  useKeys(
    {
      ...keys,
      y: act,
      m: wish('merge'),
      s: wish('squash'),
      b: wish('rebase'),
      c: () => setNaming(isOpen),
      escape: onLeave,
      q: onLeave,
      M: onLeave,
    },
    !isNaming,
  );
  const why = plan && obstacle(plan, unread);
  const doing = plan && mayHappen(plan) ? `${why ?? 'y confirm'}  ` : '';
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      <Lines lines={lines} top={top} height={rows - 1} />
      {isNaming ? (
        <Prompt
          question="Commit message:"
          columns={columns}
          onAnswer={(text) => {
            setNaming(false);
            if (text !== '') setWish({ ...wished, commit_message: text });
          }}
          onCancel={() => setNaming(false)}
        />
      ) : (
        <Tint tone="faint" wrap="truncate-end">
          {`${doing}m merge  s squash  b rebase  ${isOpen ? 'c commit all  ' : ''}esc back`}
        </Tint>
      )}
    </Box>
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

/** Why nobody can confirm a plan yet: a part of the plan was not shown. Null if all was. */
function obstacle(plan: MergeResult, unread: number): string | null {
  if (unread > 0) return `space ${counted(unread, 'more line')}`;
  const cut = cutLists(plan);
  return cut === null ? null : `incomplete (${cut}): use cadre worktrees merge --yes`;
}

function mayHappen({ outcome, conflicts, obstacles }: MergeResult): boolean {
  return outcome === 'planned' && conflicts.length === 0 && obstacles.length === 0;
}

interface Wished {
  how: MergeAction;
  /** The message of a commit of all changes of the worktree, which comes first; null: nothing is committed. */
  commit_message: string | null;
}

/** The plan of a merge, or the reason why the merge has no plan. Empty until the server has answered. */
function usePlan(
  { worktreeId, place: { acts }, notices }: MergeDialogProps,
  wished: Wished,
): { plan: MergeResult | null; problem: string | null } {
  const answer = useRead(notices, [acts, worktreeId, wished], async () => {
    try {
      return { wished, plan: await acts.mergeOrRebase(worktreeId, wished, null), problem: null };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { wished, plan: null, problem: plain(error.message) };
    }
  });
  return answer?.wished === wished ? answer : { plan: null, problem: null };
}
