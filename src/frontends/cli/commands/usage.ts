import { InvalidArgumentError } from 'commander';
import type { Budget } from '../../../api/budgets.ts';
import { endpoints } from '../../../api/index.ts';
import { spentText, dollars, quantity } from '../../../core/lib/amounts.ts';
import { commandGroup } from '../command.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { listOf, plain, shortId, table } from '../output.ts';
import { budget, limit, sessionAs, teamAs } from '../parameters.ts';
import { count } from '../option-values.ts';
import { sinceOf, zoneOf } from '../when.ts';
import type { UsageReport, UsageRow } from '../../../api/usage.ts';
import type { Layout } from '../layout.ts';

export const budgetCommands = commandGroup(
  'budgets',
  'Limit the tokens, cost and turns of sessions',
  [
    endpointCommand({
      name: 'list',
      description: 'List budgets, and show how much of each budget is used',
      endpoint: endpoints.listBudgets,
      parameters: [
        sessionAs('session_id', '--session <session>  Show only budgets of this session'),
        teamAs('team_id', '--team <team>  Show only budgets of this team'),
        limit,
      ],
      empty: 'no budgets: tokens, cost and turns are not limited',
      print: listOf<Budget>(['ID', 'FOR', 'PER', 'STATUS', 'HARD', 'USED'], (one) => [
        shortId(one.id),
        forText(one),
        one.per,
        one.status,
        one.hard ? 'yes' : 'no',
        [spentText(one), unknownText(one) ?? []].flat().join('; '),
      ]),
    }),
    endpointCommand({
      name: 'set',
      description:
        'Set the budget of a session, a team or all sessions, and replace the previous budget',
      endpoint: endpoints.setBudget,
      parameters: [
        sessionAs('session_id', '--session <session>  Session that the budget limits'),
        teamAs('team_id', '--team <team>  Team whose sessions share the budget'),
        '--per <period>  Period of the limits: total (default for a session or team) or day (default for all sessions)',
        {
          line: '--tokens <count>  Maximum number of tokens, including cached tokens, such as 500000, 500k or 2M',
          parse: tokens,
        },
        {
          line: '--cost <dollars>  Maximum cost of the turns in US dollars',
          field: 'cost_usd',
          parse: money,
        },
        {
          line: '--turns <count>  Maximum number of turns in the period of the budget',
          parse: count,
        },
        '--hard  Interrupt running turns when the budget is used up (default: running turns finish)',
        {
          line: '--zone <zone>  Time zone in which each day of the budget starts and ends (default: time zone of this machine)',
          read: (zone: string) => ({ time_zone: zoneOf(zone) }),
          absent: ({ fields }) =>
            Promise.resolve(isDaily(fields) ? { time_zone: zoneOf(undefined) } : {}),
        },
      ],
      print: (set) =>
        `Set budget ${set.id} for ${forText(set)}: ${spentText(set)}${perText(set)}\n`,
      after(set, { stderr }) {
        const unknown = unknownText(set);
        if (unknown !== null) stderr.write(`cadre: ${unknown}\n`);
        if (set.status === 'reached')
          stderr.write('cadre: the budget is already used up: see cadre approvals list\n');
      },
    }),
    endpointCommand({
      name: 'remove',
      description: 'Remove a budget, and resume the turns that the budget held back',
      endpoint: endpoints.removeBudget,
      parameters: [budget],
      print: ({ id }) => `Removed budget ${id}\n`,
    }),
  ],
);

function forText({ session_id, team_id }: Budget): string {
  if (session_id !== null) return plain(`session ${shortId(session_id)}`);
  return team_id === null ? 'all sessions' : plain(`team ${shortId(team_id)}`);
}

function perText({ time_zone }: Budget): string {
  return time_zone === null ? '' : ` each day (${plain(time_zone)})`;
}

function isDaily({ per, session_id, team_id }: Readonly<Record<string, unknown>>): boolean {
  return per === undefined ? session_id === undefined && team_id === undefined : per === 'day';
}

function tokens(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,15}(?:\.\d{1,6})?)([kKmM]?)$/.exec(text) ?? [];
  const factor = { '': 1, k: 1000, m: 1_000_000 }[unit.toLowerCase()];
  const amount = Math.round(Number(digits) * (factor ?? Number.NaN));
  if (amount > 0) return amount;
  throw new InvalidArgumentError('Expected a number of tokens, such as 500000, 500k or 2M.');
}

function money(text: string): number {
  const amount = /^\$?(\d{1,9}(?:\.\d{1,6})?)$/.exec(text)?.[1];
  if (amount !== undefined && Number(amount) > 0) return Number(amount);
  throw new InvalidArgumentError('Expected US dollars, such as 20 or 0.50.');
}

export const usageCommand = endpointCommand({
  name: 'usage',
  description: 'Show the tokens and cost that sessions used',
  endpoint: endpoints.getUsage,
  parameters: [
    '--by <property>  Group tokens and cost by this property (default: day)',
    {
      line: '--zone <zone>  Time zone in which each day starts and ends (default: time zone of this machine)',
      read: (zone: string) => ({ time_zone: zoneOf(zone) }),
      absent: () => Promise.resolve({ time_zone: zoneOf(undefined) }),
    },
    {
      line: '--since <time>  Start of the period to show: 7d (7 days ago), 2026-11-01, an ISO time, or all (default: 30 days ago)',
      read: (text: string, { io, fields }) => ({
        since: sinceOf(text, io.clock.now(), String(fields.time_zone)),
      }),
    },
    limit,
  ],
  isList: true,
  print: (report, { layout }) => usageTable(report, layout),
  after(report, { stderr }) {
    for (const note of usageNotes(report)) stderr.write(`cadre: ${note}\n`);
  },
});

/** The usage of turns as a table, with a last row for the sum. */
function usageTable({ by, rows, total }: UsageReport, layout: Layout): string {
  const heading = [...heads[by], 'TURNS', 'TOKENS', 'INPUT', 'OUTPUT', 'CACHED', 'COST'];
  const sums = { key: null, name: null, provider: null, agent: null, ...total };
  const last = ['total', ...heads[by].slice(1).map(() => ''), ...figuresOf(sums)];
  const lines = rows.map((row) => [...namesOf(by, row), ...figuresOf(row)]);
  return table(heading, [...lines, last], layout);
}

/** The usage that a budget cannot count; null if the budget counts everything. */
function unknownText({ limit, spent }: Pick<Budget, 'limit' | 'spent'>): string | null {
  const { turns_without_tokens: noTokens, turns_without_cost: noCost } = spent;
  const missing = [
    limit.tokens !== null && noTokens > 0 ? `${noTokens} turns report no tokens` : [],
    limit.cost_usd !== null && noCost > 0 ? `${noCost} turns report no cost` : [],
  ].flat();
  return missing.length === 0 ? null : `${missing.join(', ')}: these are not counted`;
}

/** Notes on the numbers of the table, one sentence a line. */
function usageNotes({ total, left_out }: UsageReport): string[] {
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
