import { usageError } from '../../api/errors.ts';
import { localTime } from '../../core/lib/cron.ts';
import { parseDuration } from '../../core/lib/duration.ts';

/**
 * The moment of `--since`, in Unix ms: a length of time before now (`7d`), a day (`2026-11-01`) or a time
 * (`2026-11-01T08:00`) in `zone`, or `all` for 0. Throws `usage` for any other text.
 */
export function sinceOf(text: string, now: number, zone: string): number {
  if (text === 'all') return 0;
  const length = parseDuration(text);
  if (length !== null) return Math.max(0, now - length);
  const at = localTime(text.length === 10 ? `${text}T00:00` : text, zone) ?? timeOf(text);
  if (at !== null && at >= 0) return at;
  throw usageError(
    `invalid --since "${text}": expected a time such as 7d, 2026-11-01, 2026-11-01T08:00 or all`,
  );
}

function timeOf(text: string): number | null {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)$/.test(text)) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}
