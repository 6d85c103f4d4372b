import { endpoints } from '../api/index.ts';
import type { UsageReport, UsageRow } from '../api/usage.ts';
import { AppError, unreachableError } from '../api/errors.ts';
import { mostTokensFirst, plus } from '../core/lib/usage-sums.ts';
import type { CallInput } from './client.ts';
import type { ServerEntry, Servers } from './servers.ts';

/**
 * The usage of the turns of several servers together, and why servers did not answer: a sentence by the name of each.
 * Throws `unreachable` if no server answers.
 */
export async function joinUsage(
  servers: Servers,
  input: CallInput<typeof endpoints.getUsage>,
  signal?: AbortSignal,
): Promise<{ report: UsageReport; away: ReadonlyMap<string, string> }> {
  const reports: UsageReport[] = [];
  const away = new Map<string, string>();
  const ask = async ({ name, client, detail }: ServerEntry) => {
    try {
      if (!client) throw unreachableError(detail ?? name);
      reports.push(await client.call(endpoints.getUsage, input, signal));
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'unreachable') throw error;
      away.set(name, `${error.message}: its usage is not included`);
    }
  };
  await Promise.all((await servers.list()).map(ask));
  const [first, ...others] = reports;
  if (!first) throw unreachableError([...away.values()].join('; '));
  const report = others.reduce(together, first);
  const { limit } = input.query ?? {};
  const rows = ordered(report).slice(0, limit);
  return {
    report: { ...report, rows, left_out: report.left_out + report.rows.length - rows.length },
    away,
  };
}

function together(a: UsageReport, b: UsageReport): UsageReport {
  const rows = new Map<string, UsageRow>();
  for (const row of [...a.rows, ...b.rows]) {
    const name = JSON.stringify([row.key, row.agent]);
    const before = rows.get(name);
    rows.set(name, before ? { ...before, ...plus(before, row) } : row);
  }
  return {
    ...a,
    since: Math.min(a.since, b.since),
    until: Math.max(a.until, b.until),
    rows: [...rows.values()],
    left_out: a.left_out + b.left_out,
    total: plus(a.total, b.total),
  };
}

/** Days: the newest first. Others: the one with the most tokens first. */
function ordered({ by, rows }: UsageReport): UsageRow[] {
  return rows.toSorted(
    by === 'day' ? (a, b) => (b.key ?? '').localeCompare(a.key ?? '') : mostTokensFirst,
  );
}
