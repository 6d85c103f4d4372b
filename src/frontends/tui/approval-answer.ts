import { oneLine } from '../../client/event-summary.ts';
import { graphemesOf } from './forms/editor.ts';
import type { Resolved } from './overview.ts';

/** A longer title is cut in the middle: a command is known by its beginning and its end. */
const LONGEST = 80;

/** How an approval was resolved, and by whom: this screen, another client, or nobody. */
export function describeResolved(resolved: Resolved, isMine: boolean): string {
  const { title, status, decided_by, reason } = resolved;
  const what = `"${withoutMiddle(oneLine(title))}"`;
  const why = reason === null ? '' : `: ${oneLine(reason)}`;
  const done = status === 'accepted' ? 'approved' : status;
  if (isMine) return `${done === 'approved' ? 'Approved' : 'Declined'} ${what}${why}`;
  const by = decided_by === 'api' ? 'another client' : oneLine(decided_by ?? '');
  return `${what} was ${done}${by === '' ? '' : ` by ${by}`}${why}`;
}

function withoutMiddle(text: string): string {
  const pieces = graphemesOf(text);
  if (pieces.length <= LONGEST) return text;
  const half = Math.floor((LONGEST - 1) / 2);
  return `${pieces.slice(0, half).join('')}…${pieces.slice(-half).join('')}`;
}
