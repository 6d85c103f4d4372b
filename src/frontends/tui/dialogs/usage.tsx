import { Box } from 'ink';
import { type ReactNode, useState } from 'react';
import type { UsageReport } from '../../../api/usage.ts';
import { useKeys } from '../keyboard.ts';
import { useRead, useSource } from '../react-hooks.ts';
import type { DialogProps } from '../screen/screen-context.ts';
import { Tint } from '../tint.tsx';
import { Lines } from './lines.tsx';
import { useScroll } from './scroll.ts';
import { usageLines } from './usage-lines.ts';

/** The usage by day, session, provider or team, and the budgets. */
export function UsageDialog({ place, notices, rows, onLeave }: DialogProps): ReactNode {
  const { acts, overviewStore } = place;
  const { queueSeq, ...named } = useSource(overviewStore.overview);
  const [by, setBy] = useState<UsageReport['by']>('day');
  const found = useRead(notices, [acts, by, queueSeq], async () => {
    const [report, budgets] = await Promise.all([acts.usage(by), acts.budgets()]);
    return { report, budgets };
  });
  const lines = found ? usageLines(found.report, found.budgets, named) : ['Loading usage …'];
  const height = Math.max(1, rows - 1);
  const scroll = useScroll(lines.length, height);
  useKeys({
    ...scroll.keys,
    escape: onLeave,
    q: onLeave,
    u: onLeave,
    d: () => setBy('day'),
    s: () => setBy('session'),
    p: () => setBy('provider'),
    t: () => setBy('team'),
  });
  return (
    <Box flexDirection="column" height={rows} overflow="hidden">
      <Lines lines={lines} top={scroll.top} height={height} />
      <Tint tone="faint" wrap="truncate-end">
        {KEYS}
      </Tint>
    </Box>
  );
}

const KEYS = 'Group by: d day  s session  p provider  t team  esc back';
