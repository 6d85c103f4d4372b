import { Box } from 'ink';
import { type ReactNode, useEffect, useState } from 'react';
import type { Budget } from '../../../api/budgets.ts';
import type { UsageReport } from '../../../api/usage.ts';
import type { Acts } from '../acts.ts';
import type { Notices } from '../react-hooks.ts';
import type { Overview } from '../overview.ts';
import { useKeys } from '../keyboard.ts';
import { Tint } from '../tint.tsx';
import { Lines } from './lines.tsx';
import { useScroll } from './scroll.ts';
import { usageLines } from './usage-lines.ts';

interface UsageDialogProps extends Pick<Overview, 'sessions' | 'teams'> {
  acts: Acts;
  notices: Notices;
  /** Changes with each change of any budget. */
  version: number;
  rows: number;
  onLeave: () => void;
}

/** What turns have used by day, session, provider or team, and the budgets. */
export function UsageDialog({
  acts,
  sessions,
  teams,
  notices,
  version,
  rows,
  onLeave,
}: UsageDialogProps): ReactNode {
  const [by, setBy] = useState<UsageReport['by']>('day');
  const [found, setFound] = useState<Found | null>(null);
  const { attempt } = notices;
  useEffect(() => {
    let isShown = true;
    attempt(
      Promise.all([acts.usage(by), acts.budgets()]).then(([report, budgets]) => {
        if (isShown) setFound({ report, budgets });
      }),
    );
    return () => {
      isShown = false;
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- read again with each change, and not with each drawing
  }, [acts, by, version]);
  const named = { sessions, teams };
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

interface Found {
  report: UsageReport;
  budgets: readonly Budget[];
}

const KEYS = 'Group by: d day  s session  p provider  t team  esc back';
