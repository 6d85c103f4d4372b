import type { ReviewComment } from '../../../api/reviews.ts';
import { revealed } from '../../../core/lib/plain.ts';

/** The states in which the lines of a comment are as they were, or nobody knows. */
const fresh = new Set<ReviewComment['state']>(['current', 'unknown']);

/**
 * The text of the turn that sends a review: all comments, each with its file, the numbers of its lines, the lines, and
 * what is said of them, so that an agent needs no diff to act on it. `text`: what is said before the comments; may be
 * empty.
 */
export function reviewText(comments: readonly ReviewComment[], text: string): string {
  const files = new Set(comments.map(({ path }) => path)).size;
  const head = `This is a review of your changes: ${counted(comments.length, 'comment')} on ${counted(files, 'file')}. Please address each of them.`;
  const key =
    'Each comment quotes its lines as they were when the comment was written: "+" marks a line that you added, "-" a line that you removed. Line numbers refer to the changed file, and removed lines have no number. If all lines of a comment are removed, the numbers refer to the file before your change.';
  const parts = comments.map((one, at) => commentText(one, at + 1));
  return [head, text.trim(), key, ...parts].filter((part) => part !== '').join('\n\n');
}

function commentText(comment: ReviewComment, number: number): string {
  const { lines, text, state } = comment;
  const isStale = !fresh.has(state);
  return [
    `## ${number}. ${placeText(comment)}`,
    ...(isStale ? [`(${staleText(comment)})`] : []),
    numberedLines(comment, lines),
    text.trim(),
  ].join('\n\n');
}

/** Where a comment is: its file and lines. */
function placeText({ path, side, first_line, last_line }: ReviewComment): string {
  const removed = side === 'old' ? ' (removed)' : '';
  const lines =
    first_line === last_line ? `line ${first_line}` : `lines ${first_line} to ${last_line}`;
  return `${revealed(path).replaceAll('\n', '<U+000A>')}, ${lines}${removed}`;
}

function staleText({ state, found_at }: ReviewComment): string {
  if (state === 'moved')
    return `The file has changed since: these lines are now at line ${found_at}.`;
  if (state === 'gone') return 'This file is no longer among the changes.';
  return 'These lines have changed since: check whether the comment still applies.';
}

/** The lines of a comment with their numbers, indented by four spaces, as code. */
function numberedLines({ side, first_line, last_line }: ReviewComment, lines: string[]): string {
  const width = String(last_line).length;
  let next = first_line;
  return lines
    .map((line) => {
      const isOfSide = side === 'new' ? !line.startsWith('-') : !line.startsWith('+');
      const number = isOfSide ? String(next++) : '';
      return `    ${number.padStart(width)} ${line[0] ?? ' '} ${revealed(line.slice(1))}`.trimEnd();
    })
    .join('\n');
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
