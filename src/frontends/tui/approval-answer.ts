import { oneLine } from '../../client/event-summary.ts';
import type { Resolved } from './overview.ts';

/** How an approval was resolved, and by whom: this screen, another client, or nobody. */
export function describeResolved(resolved: Resolved, isMine: boolean): string {
  const { title, status, decided_by, reason } = resolved;
  const what = `"${oneLine(title)}"`;
  const why = reason === null ? '' : `: ${oneLine(reason)}`;
  if (isMine) return `you ${status} ${what}${why}`;
  const by = decided_by === 'api' ? 'another client' : oneLine(decided_by ?? '');
  return `${what} was ${status}${by === '' ? '' : ` by ${by}`}${why}`;
}
