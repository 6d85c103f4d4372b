import type { Budget } from '../../api/budgets.ts';
import type { UsageReport, UsageRow } from '../../api/usage.ts';
import { dollars, quantity } from '../../core/lib/amounts.ts';
import type { Layout } from './layout.ts';
import { shortId, table } from './output.ts';

/** What turns have used as a table, with a last row for all of them. */
export function usageTable({ by, rows, total }: UsageReport, layout: Layout): string {
  const heading = [...heads[by], 'TURNS', 'TOKENS', 'INPUT', 'OUTPUT', 'CACHED', 'COST'];
  const sums = { key: null, name: null, provider: null, agent: null, ...total };
  const last = ['total', ...heads[by].slice(1).map(() => ''), ...figuresOf(sums)];
  const lines = rows.map((row) => [...namesOf(by, row), ...figuresOf(row)]);
  return table(heading, [...lines, last], layout);
}

/** What a budget does not know of what was used; null: it knows all that it limits. */
export function unknownText({ limit, spent }: Pick<Budget, 'limit' | 'spent'>): string | null {
  const { turns_without_tokens: noTokens, turns_without_cost: noCost } = spent;
  const missing = [
    limit.tokens !== null && noTokens > 0 ? `${noTokens} turns report no tokens` : [],
    limit.cost_usd !== null && noCost > 0 ? `${noCost} turns report no cost` : [],
  ].flat();
  return missing.length === 0 ? null : `${missing.join(', ')}: these are not counted`;
}

/** What a reader of the table should know of its numbers, a sentence a line. */
export function usageNotes({ total, left_out }: UsageReport): string[] {
  const { turns, turns_without_tokens: tokens, turns_without_cost: cost } = total;
  return [
    tokens > 0 && tokens < turns
      ? `${tokens} of ${turns} turns report no tokens: sums with a + are too low`
      : [],
    cost > 0 && cost < turns
      ? `${cost} of ${turns} turns report no cost: sums with a + are too low`
      : [],
    left_out > 0 ? `${left_out} more rows: show them with --limit` : [],
  ].flat();
}

const heads = {
  day: ['DAY'],
  session: ['SESSION', 'TITLE', 'PROVIDER'],
  team: ['TEAM', 'NAME'],
  provider: ['PROVIDER'],
} satisfies Record<UsageReport['by'], string[]>;

function namesOf(by: UsageReport['by'], { key, name, provider, agent }: UsageRow): string[] {
  if (by === 'day') return [key ?? '-'];
  const served = [provider ?? '-', agent ?? []].flat().join(' ');
  if (by === 'provider') return [served];
  if (key === null) return ['-', 'no team'];
  return by === 'team' ? [shortId(key), name ?? '-'] : [shortId(key), name ?? '-', served];
}

function figuresOf(row: UsageRow): string[] {
  const { turns, turns_without_tokens: noTokens, turns_without_cost: noCost } = row;
  const tokens = [row.total_tokens, row.input_tokens, row.output_tokens, row.cached_input_tokens];
  return [
    String(turns),
    ...tokens.map((one) => known(one, noTokens, quantity)),
    known(row.cost_usd, noCost, dollars),
  ];
}

function known(sum: number | null, without: number, text: (amount: number) => string): string {
  return sum === null ? '-' : `${text(sum)}${without > 0 ? '+' : ''}`;
}
