import { Box } from 'ink';
import { type ReactNode, useContext, useEffect, useState } from 'react';
import type { Finished } from '../../api/worktree-finish.ts';
import { finishLines } from '../../terminal/finish.ts';
import type { Acts, FinishWish } from '../acts.ts';
import type { Notices } from '../hooks.ts';
import { useKeys } from '../keyboard.ts';
import { Colors } from '../palette.ts';
import { Tint } from '../tint.tsx';
import { Lines } from './lines.tsx';
import { useScroll } from './scroll.ts';

interface FinishSheetProps {
  worktreeId: string;
  acts: Acts;
  notices: Notices;
  rows: number;
  onLeave: () => void;
}

/** What a merge, a squash or a rebase of a worktree would do; one key does exactly what is shown. */
export function FinishSheet(props: FinishSheetProps): ReactNode {
  const { worktreeId, acts, notices, rows, onLeave } = props;
  const palette = useContext(Colors);
  const [how, setHow] = useState<FinishWish>('merge');
  const plan = usePlan(props, how);
  const lines = plan ? finishLines(plan, { palette, hintFor: () => null }) : ['looking …'];
  const { top, keys } = useScroll(lines.length, rows - 1);
  const act = () => {
    if (!plan || !mayHappen(plan)) return;
    const work = async () => {
      const done = await acts.finish(worktreeId, how, { expected_tree: plan.result_tree });
      notices.tell(
        `${how === 'rebase' ? 'rebased onto' : 'merged into'} ${done.target}; the worktree stays`,
      );
    };
    notices.attempt(work());
    onLeave();
  };
  useKeys({
    ...keys,
    y: act,
    m: () => setHow('merge'),
    s: () => setHow('squash'),
    b: () => setHow('rebase'),
    escape: onLeave,
    q: onLeave,
    M: onLeave,
  });
  const doing = plan && mayHappen(plan) ? 'y do it  ' : '';
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      <Lines lines={lines} top={top} height={rows - 1} />
      <Tint tone="faint" wrap="truncate-end">
        {`${doing}m merge  s squash  b rebase  esc back`}
      </Tint>
    </Box>
  );
}

function mayHappen({ outcome, conflicts, obstacles }: Finished): boolean {
  return outcome === 'planned' && conflicts.length === 0 && obstacles.length === 0;
}

/** What would happen; null until the server has said it. */
function usePlan(
  { worktreeId, acts, notices }: FinishSheetProps,
  how: FinishWish,
): Finished | null {
  const [plan, setPlan] = useState<Finished | null>(null);
  const { attempt } = notices;
  useEffect(() => {
    let isShown = true;
    setPlan(null);
    attempt(
      acts.finish(worktreeId, how, null).then((read) => {
        if (isShown) setPlan(read);
      }),
    );
    return () => {
      isShown = false;
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- asked again with each other wish, not with each drawing
  }, [acts, worktreeId, how]);
  return plan;
}
