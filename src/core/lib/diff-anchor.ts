import type { DiffFile, DiffHunk, DiffLine } from './unified-diff.ts';

/** The side of a diff: the file after the change, or before it. */
export type DiffSide = 'new' | 'old';

/** Lines of a diff: where they are, and what they say. */
export interface Anchor {
  path: string;
  side: DiffSide;
  /** Their numbers on that side, from 1. */
  first_line: number;
  last_line: number;
  /** The lines with their marks, and the lines of the other side between them; long lines are cut. */
  lines: string[];
}

/** The state of an anchor. `found_at`: the position of its lines now, if they are in one other place; else null. */
export interface AnchorState {
  state: 'current' | 'moved' | 'changed' | 'gone' | 'unknown';
  found_at: number | null;
}

/** How much of a line is kept, in UTF-16 code units. */
export const QUOTED_UNITS = 1000;
export const ANCHOR_LINES = 200;

/** The anchor of the lines `from` to `to` of a hunk, both included; null where none of them has a number. */
export function anchorIn(file: DiffFile, hunk: DiffHunk, from: number, to: number): Anchor | null {
  const lines = hunk.lines.slice(from, to + 1).filter(({ mark }) => mark !== '\\');
  const side: DiffSide = lines.some((line) => line.new !== null) ? 'new' : 'old';
  const numbers = lines.map((line) => line[side]).filter((one) => one !== null);
  const [first_line] = numbers;
  const last_line = numbers.at(-1);
  if (first_line === undefined || last_line === undefined) return null;
  return { path: file.path, side, first_line, last_line, lines: lines.map(quoted) };
}

/** The anchor of lines by their numbers; null where the diff does not show all of them, in one hunk. */
export function anchorOf(
  files: readonly DiffFile[],
  { path, side, first_line, last_line }: Omit<Anchor, 'lines'>,
): Anchor | null {
  for (const file of files.filter((one) => isAt(one, path, side)))
    for (const hunk of file.hunks) {
      const from = hunk.lines.findIndex((line) => line[side] === first_line);
      const to = hunk.lines.findIndex((line) => line[side] === last_line);
      if (from === -1 || to < from) continue;
      const lines = hunk.lines.slice(from, to + 1).filter(({ mark }) => mark !== '\\');
      return { path: file.path, side, first_line, last_line, lines: lines.map(quoted) };
    }
  return null;
}

/** The line of a diff that an anchor ends with. */
export interface AnchorPosition {
  file: DiffFile;
  hunk: DiffHunk;
  /** The index of its first and last line in the hunk. */
  from: number;
  to: number;
}

/** Where an anchor is in a diff, if its lines are there, unchanged and with the same numbers; else null. */
export function locateAnchor(anchor: Anchor, files: readonly DiffFile[]): AnchorPosition | null {
  return (
    positionsOf(anchor, files).find(
      (position) => numberAt(position, anchor) === anchor.first_line,
    ) ?? null
  );
}

/**
 * Says what has become of an anchor. Lines that are elsewhere now have moved: the anchor stays where it was. It is unknown
 * where the diff does not show its file; `isCut`: the diff does not name all files.
 */
export function anchorStateOf(
  anchor: Anchor,
  files: readonly DiffFile[],
  { isCut = false } = {},
): AnchorState {
  const there = files.filter((file) => isAt(file, anchor.path, anchor.side));
  if (there.length === 0) return { state: isCut ? 'unknown' : 'gone', found_at: null };
  if (!there.some(({ isShown }) => isShown)) return { state: 'unknown', found_at: null };
  const positions = positionsOf(anchor, files);
  const numbers = positions.map((position) => numberAt(position, anchor));
  if (numbers.includes(anchor.first_line)) return { state: 'current', found_at: null };
  const [only, ...others] = numbers;
  return only === undefined || only === null || others.length > 0
    ? { state: 'changed', found_at: null }
    : { state: 'moved', found_at: only };
}

function positionsOf({ path, side, lines }: Anchor, files: readonly DiffFile[]): AnchorPosition[] {
  const [first] = lines;
  return files
    .filter((file) => isAt(file, path, side))
    .flatMap((file) => file.hunks.map((hunk) => ({ file, hunk })))
    .flatMap(({ file, hunk }) => {
      const numbered = [...hunk.lines.entries()].filter(([, { mark }]) => mark !== '\\');
      return numbered.flatMap(([from, line], at) => {
        if (quoted(line) !== first) return [];
        const run = numbered.slice(at, at + lines.length);
        const isSame =
          run.length === lines.length && run.every(([, one], i) => quoted(one) === lines[i]);
        return isSame ? [{ file, hunk, from, to: run.at(-1)?.[0] ?? from }] : [];
      });
    });
}

/** The number of the first line of a position that has one on the side of the anchor. */
function numberAt({ hunk, from, to }: AnchorPosition, { side }: Anchor): number | null {
  const numbered = hunk.lines.slice(from, to + 1).find((line) => line[side] !== null);
  return numbered?.[side] ?? null;
}

function isAt(file: DiffFile, path: string, side: DiffSide): boolean {
  return file.path === path || (side === 'old' && file.old_path === path);
}

function quoted({ mark, text }: DiffLine): string {
  return `${mark}${text}`.slice(0, QUOTED_UNITS).toWellFormed();
}
