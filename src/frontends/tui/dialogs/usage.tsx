import { type ReactNode, useState } from 'react';
import { endpoints } from '../../../api/index.ts';
import type { UsageReport, UsageRow } from '../../../api/usage.ts';
import { ownTimeZone } from '../../../core/lib/cron.ts';
import { useKeys } from '../keyboard.ts';
import { useRead, useObservable } from '../react-hooks.ts';
import type { DialogProps } from '../screen/screen-context.ts';
import { Frame, Lines, useScroll } from './dialog.tsx';
import type { Budget } from '../../../api/budgets.ts';
import { oneLine } from '../../../client/event-summary.ts';
import { dollars, quantity, spentText } from '../../../core/lib/amounts.ts';
import { shorten } from '../../../core/lib/shorten.ts';
import type { Overview } from '../overview.ts';
import { sessionName } from '../titles.ts';

/** The usage of the last 30 days by day, session, provider or team, and the budgets. */
export function UsageDialog({ context, notices, rows, onLeave }: DialogProps): ReactNode {
  const { client, overviewStore } = context;
  const { queueSeq, ...named } = useObservable(overviewStore.overview);
  const [by, setBy] = useState<UsageReport['by']>('day');
  const found = useRead(notices, [client, by, queueSeq], async () => {
    const query = { by, time_zone: ownTimeZone() };
    const [report, budgets] = await Promise.all([
      client.call(endpoints.getUsage, { query }),
      client.call(endpoints.listBudgets, { query: {} }),
    ]);
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
    <Frame rows={rows} footer="Group by: d day  s session  p provider  t team  esc back">
      <Lines lines={lines} top={scroll.top} height={height} />
    </Frame>
  );
}

/** The budgets, and below them what turns have used, as lines for people. */
function usageLines(
  report: UsageReport,
  budgets: readonly Budget[],
  named: Pick<Overview, 'sessions' | 'teams'>,
): string[] {
  const rows = report.rows.map((row) => [labelOf(report.by, row), ...figuresOf(row)]);
  const sums = { key: null, name: null, provider: null, agent: null, ...report.total };
  const heading = [report.by, 'turns', 'tokens', 'cost'];
  const isPartial = rows.flat().some((cell) => cell.endsWith('+'));
  return [
    ...budgets.map((budget) => budgetLine(budget, named)),
    ...(budgets.length > 0 ? [''] : []),
    ...aligned([heading, ...rows, ['total', ...figuresOf(sums)]]),
    ...(isPartial ? ['', '+ Turns without reported numbers are not included'] : []),
  ];
}

/** `node`: the name of its server, where there are several. */
function budgetLine(
  budget: Budget & { node?: string },
  { sessions, teams }: Pick<Overview, 'sessions' | 'teams'>,
): string {
  const { session_id, team_id, time_zone, status, node } = budget;
  const whose =
    session_id !== null
      ? sessionName(session_id, sessions.get(session_id)?.session.title)
      : team_id === null
        ? 'all sessions'
        : teamName(team_id, teams.get(team_id)?.name);
  const state = status === 'open' ? '' : `  ${status}`;
  const where = node === undefined ? '' : ` on ${oneLine(node)}`;
  return `Budget of ${whose}${where}${time_zone === null ? '' : ' today'}: ${spentText(budget)}${state}`;
}

function teamName(id: string, name = ''): string {
  const text = oneLine(name);
  return text === '' ? `team ${id.slice(-8)}` : `team "${text}" (${id.slice(-8)})`;
}

function labelOf(by: UsageReport['by'], { key, name, provider, agent }: UsageRow): string {
  if (by === 'provider') return [provider ?? '-', agent ?? []].flat().join(' ');
  if (key === null) return 'no team';
  return by === 'day' ? key : `${key.slice(-8)}  ${shorten(oneLine(name ?? ''), 30)}`.trimEnd();
}

function figuresOf(row: UsageRow): string[] {
  const { turns, total_tokens: tokens, cost_usd: cost } = row;
  const mark = (without: number) => (without > 0 ? '+' : '');
  return [
    quantity(turns),
    tokens === null ? '-' : `${quantity(tokens)}${mark(row.turns_without_tokens)}`,
    cost === null ? '-' : `${dollars(cost)}${mark(row.turns_without_cost)}`,
  ];
}

/** Rows with their cells below each other: the first to the left, numbers to the right. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  '),
  );
}
