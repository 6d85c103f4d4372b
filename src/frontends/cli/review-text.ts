import type { Review, ReviewComment } from '../../api/reviews.ts';
import { oneLine, revealed } from '../../core/lib/plain.ts';
import type { Layout } from './layout.ts';
import { shortId } from './output.ts';

/** The comments of a review, each with its place, its lines and what it says; nothing for none. */
export function reviewText({ comments }: Review, layout: Layout): string {
  return comments.map((one) => commentText(one, layout)).join('\n');
}

function commentText(comment: ReviewComment, { palette }: Layout): string {
  const { id, lines, text } = comment;
  const stale = staleText(comment);
  const head = `${shortId(id)}  ${placeText(comment)}${stale === '' ? '' : `  ${palette.warn(stale)}`}`;
  const quoted = lines.map((line) => {
    const shown = `    ${revealed(line)}`;
    if (line.startsWith('+')) return palette.added(shown);
    return line.startsWith('-') ? palette.removed(shown) : shown;
  });
  const said = text.split('\n').map((line) => `  ${revealed(line)}`);
  return [head, ...quoted, ...said].map((line) => `${line.trimEnd()}\n`).join('');
}

function placeText({ path, side, first_line, last_line }: ReviewComment): string {
  const lines = first_line === last_line ? `${first_line}` : `${first_line}-${last_line}`;
  return `${oneLine(path)}:${lines}${side === 'old' ? ' (removed)' : ''}`;
}

function staleText({ state, found_at }: ReviewComment): string {
  if (state === 'moved') return `stale: now at line ${found_at}`;
  if (state === 'changed') return 'stale: its lines have changed';
  return state === 'gone' ? 'stale: no longer in the diff' : '';
}
