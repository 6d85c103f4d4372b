import { oneLine } from '../../client/event-summary.ts';
import type { Resolved } from './overview.ts';

/** How an approval was resolved, and by whom: this screen, another client, or nobody. */
export function describeResolved(resolved: Resolved, isMine: boolean): string {
  const { title, status, decided_by, reason } = resolved;
  const what = `"${oneLine(title)}"`;
  const why = reason === null ? '' : `: ${oneLine(reason)}`;
  const done = status === 'accepted' ? 'approved' : status;
  if (isMine) return `${done === 'approved' ? 'Approved' : 'Declined'} ${what}${why}`;
  const by = decided_by === 'api' ? 'another client' : oneLine(decided_by ?? '');
  return `${what} was ${done}${by === '' ? '' : ` by ${by}`}${why}`;
}
