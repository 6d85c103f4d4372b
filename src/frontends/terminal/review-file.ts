import type { FileChange } from '../../api/diffs.ts';
import type { ReviewComment } from '../../api/reviews.ts';
import { type AppError, invalidError, usageError } from '../../api/errors.ts';
import { type Anchor, ANCHOR_LINES, anchorIn, locateAnchor } from '../../core/lib/diff-anchor.ts';
import { revealed, revealedLine } from '../../core/lib/plain.ts';
import { shorten } from '../../core/lib/shorten.ts';
import { type DiffFile, type DiffHunk, readPatches } from '../../core/lib/unified-diff.ts';

/** The diff of a session with its comments as a file for an editor. */
export interface ReviewFile {
  text: string;
  /** Reads the changed comments of an edited text. Throws `invalid` with the number of the line that it cannot read. */
  read(text: string): ReviewChanges;
}

export interface ReviewChanges {
  add: (Anchor & { text: string })[];
  /** The ids of those that are gone, or say something else. */
  drop: string[];
}

/** Lines of a hunk, both ends included. */
interface HunkLines {
  file: DiffFile;
  hunk: DiffHunk;
  from: number;
  to: number;
}

/** A line of the diff in the file; `at`: its index in the hunk, null for a line that is in none. */
type Line = { text: string } & ({ at: number; file: DiffFile; hunk: DiffHunk } | { at: null });

/** Makes the file. Comments that are stale have no location in it: it leaves them as they are. */
export function reviewFile(
  changes: readonly FileChange[],
  comments: readonly ReviewComment[],
): ReviewFile {
  const files = readPatches(changes);
  const lines = files.flatMap((file, i) => linesOf(file, changes[i]?.no_patch ?? null));
  const located = comments.flatMap((comment) => {
    const location = locateAnchor(comment, files);
    return location ? [{ comment, location }] : [];
  });
  const body = lines.flatMap((line) => {
    const here = located.filter(
      ({ location }) => line.at === location.to && line.hunk === location.hunk,
    );
    return [
      line.text,
      ...here.flatMap(({ comment, location }, i) => written(comment.text, location, i)),
    ];
  });
  const left = comments.length - located.length;
  return {
    text: `${[...headOf(left), ...body].join('\n')}\n`,
    read: (text) => changesOf(readComments(text, lines), located),
  };
}

function headOf(stale: number): string[] {
  const left =
    stale === 0
      ? []
      : [
          `# ${stale === 1 ? '1 comment is' : `${stale} comments are`} stale because the lines changed, and not shown here.`,
        ];
  return [
    '# Comments on the changes of a session.',
    '# Write a comment below its line. Start each line of the comment with "#".',
    '# Consecutive lines are one comment. To comment on the three lines above, start with "#[3]".',
    '# Do not change other lines. Save, and exit the editor. An empty file changes nothing.',
    ...left,
    '',
  ];
}

function linesOf(file: DiffFile, noPatch: string | null): Line[] {
  const outside = (text: string): Line => ({ text: revealedLine(text), at: null });
  const old = file.old_path ?? file.path;
  return [
    outside(`--- a/${old}`),
    outside(`+++ b/${file.path}${noPatch === null ? '' : ` (not shown: ${noPatch})`}`),
    ...file.hunks.flatMap((hunk) => [
      outside(hunk.head),
      ...hunk.lines.map((line, at): Line => ({
        text: revealedLine(`${line.mark}${line.text}`),
        at,
        file,
        hunk,
      })),
    ]),
  ];
}

/** A comment below its last line. `before`: how many stand there already. */
function written(text: string, { hunk, from, to }: HunkLines, before: number): string[] {
  const count = hunk.lines.slice(from, to + 1).filter(({ mark }) => mark !== '\\').length;
  const [first = '', ...rest] = text.split('\n').map((line) => revealed(line));
  const mark = count > 1 || before > 0 ? `#[${count}]` : '#';
  return [`${mark} ${first}`, ...rest.map((line) => `# ${line}`.trimEnd())];
}

interface Read {
  location: HunkLines;
  text: string;
}

/** The comments of an edited file. Blank lines may be added; every line of the diff has to be there as it was. */
function readComments(text: string, lines: readonly Line[]): Read[] {
  const found: (Read & { lines: string[] })[] = [];
  let next = 0;
  let isOpen = false;
  if (text.trim() === '') throw usageError('the review file is empty, so nothing was changed');
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const expected = lines[next];
    const comment = /^#(?:\[(\d+)\])? ?(.*)$/.exec(line);
    if (comment && next === 0) continue;
    if (comment) {
      const [, count, words = ''] = comment;
      const open = isOpen && count === undefined ? found.at(-1) : undefined;
      if (open) open.lines.push(words);
      else
        found.push({
          location: locationAbove(lines, next - 1, Number(count ?? 1), i + 1),
          text: '',
          lines: [words],
        });
      isOpen = true;
      continue;
    }
    isOpen = false;
    if (line.trimEnd() === expected?.text.trimEnd()) next += 1;
    else if (line.trim() !== '')
      throw wrong(
        i + 1,
        `"${shorten(line, 40)}" is not a line of the diff: start comments with "#"`,
      );
  }
  if (next < lines.length)
    throw wrong(null, `the line "${shorten(lines[next]?.text ?? '', 40)}" of the diff is missing`);
  return found
    .map((one) => ({ location: one.location, text: one.lines.join('\n').trim() }))
    .filter((one) => one.text !== '');
}

/** The lines above a comment, the last of which is `at`. */
function locationAbove(
  lines: readonly Line[],
  at: number,
  count: number,
  number: number,
): HunkLines {
  const line = lines[at];
  if (line?.at === null || line === undefined)
    throw wrong(number, 'this comment is not below a line of a file');
  if (count < 1 || count > ANCHOR_LINES)
    throw wrong(number, `a comment covers 1 to ${ANCHOR_LINES} lines`);
  const { file, hunk, at: to } = line;
  const above = [...hunk.lines.entries()].filter(([i, { mark }]) => i <= to && mark !== '\\');
  const from = above.at(-count)?.[0];
  if (from === undefined)
    throw wrong(number, `the hunk has fewer than ${count} lines above this comment`);
  return { file, hunk, from, to };
}

function changesOf(
  read: readonly Read[],
  located: readonly { comment: ReviewComment; location: HunkLines }[],
): ReviewChanges {
  const left = [...located];
  const added = read.filter(({ location, text }) => {
    const same = left.findIndex(
      (one) => isSame(one.location, location) && shownText(one.comment.text) === text,
    );
    if (same >= 0) left.splice(same, 1);
    return same === -1;
  });
  return {
    add: added.flatMap(({ location: { file, hunk, from, to }, text }) => {
      const anchor = anchorIn(file, hunk, from, to);
      return anchor ? [{ ...anchor, text }] : [];
    }),
    drop: left.map(({ comment }) => comment.id),
  };
}

/** The text of a comment as it is read again if it was not changed. */
function shownText(text: string): string {
  const lines = text
    .split('\n')
    .map((line, i) => (i === 0 ? revealed(line) : revealed(line).trimEnd()));
  return lines.join('\n').trim();
}

function isSame(one: HunkLines, other: HunkLines): boolean {
  const end = (location: HunkLines) =>
    location.hunk.lines.findLastIndex((line, i) => i <= location.to && line.mark !== '\\');
  return one.hunk === other.hunk && one.from === other.from && end(one) === end(other);
}

function wrong(line: number | null, what: string): AppError {
  return invalidError(line === null ? what : `line ${line}: ${what}`);
}
