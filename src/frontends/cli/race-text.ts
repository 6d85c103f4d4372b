import type { Contender, Race } from '../../api/races.ts';
import { counted } from '../../core/lib/counted.ts';
import { dollars, quantity } from '../../core/lib/amounts.ts';
import { durationText } from '../terminal/time.ts';
import type { Layout } from './layout.ts';
import { plain, shortId, table } from './output.ts';

const heading = [
  'CONTENDER',
  'STATUS',
  'FILES',
  'LINES',
  'TIME',
  'TOKENS',
  'COST',
  'SESSION',
  'DETAIL',
];

/** The contenders of a race as a table. */
export function raceTable({ contenders, kept }: Race, layout: Layout, now: number): string {
  const rows = contenders.map((one) => [
    one.contender,
    one.contender === kept ? `${one.status}, kept` : one.status,
    one.files_changed === null ? '-' : String(one.files_changed),
    linesText(one),
    timeText(one, now),
    one.usage?.total_tokens == null ? '-' : quantity(one.usage.total_tokens),
    one.usage?.cost_usd == null ? '-' : dollars(one.usage.cost_usd),
    one.session_id === null ? '-' : shortId(one.session_id),
    one.failure?.message ?? one.waits_for ?? checksText(one),
  ]);
  return table(heading, rows, layout);
}

/** One line on the end of a contender: `claude passed (2 files, +31 -4, 1m 2s)`. */
export function resultText(one: Contender): string {
  const { contender, status, failure, files_changed: files } = one;
  if (failure !== null) return plain(`${contender} failed: ${failure.message}`);
  const changes = files === null ? [] : [counted(files, 'file'), linesText(one)];
  return `${contender} ${status} (${[...changes, timeText(one, 0)].join(', ')})`;
}

function linesText({ additions, deletions }: Contender): string {
  return additions === null || deletions === null ? '-' : `+${additions} -${deletions}`;
}

function timeText({ started_at, ended_at }: Contender, now: number): string {
  return started_at === null ? '-' : durationText((ended_at ?? now) - started_at);
}

function checksText({ checks }: Contender): string {
  return checks === 0 ? '' : counted(checks, 'check');
}
