export interface DiffFile {
  /** Its path after the change; of a file that was removed, the one before. */
  path: string;
  /** Where it was before, if it was renamed; else null. */
  old_path: string | null;
  /** Whether its lines are known: not of a binary or a very large file. */
  isShown: boolean;
  hunks: DiffHunk[];
}

export interface DiffHunk {
  /** The line that begins with `@@`. */
  head: string;
  lines: DiffLine[];
}

export interface DiffLine {
  /** State of the line. A backslash: git comments on the line before, for example that no line feed follows. */
  mark: ' ' | '+' | '-' | '\\';
  /** Its number before the change, from 1; null: it was not there. */
  old: number | null;
  /** Its number after the change, from 1; null: it is not there. */
  new: number | null;
  /** Without the mark. */
  text: string;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Reads the patches of files: each is the part of a unified diff for that file, null where there is none. */
export function readPatches(
  files: readonly { path: string; old_path: string | null; patch: string | null }[],
): DiffFile[] {
  return files.map(({ path, old_path, patch }) => ({
    path,
    old_path,
    isShown: patch !== null,
    hunks: patch === null ? [] : hunksOf(patch),
  }));
}

/** The hunks of a patch; what stands before the first one is left out. */
function hunksOf(patch: string): DiffHunk[] {
  const hunks: DiffHunk[] = [];
  const lines = patch.split('\n');
  let at = 0;
  while (at < lines.length) {
    const head = lines[at] ?? '';
    at += 1;
    if (!HUNK.test(head)) continue;
    const hunk = { head, lines: linesOfHunk(head, lines, at) };
    hunks.push(hunk);
    at += hunk.lines.length;
  }
  return hunks;
}

/** The lines of a hunk, as many as its head promises, unless the diff ends before. */
function linesOfHunk(head: string, lines: readonly string[], from: number): DiffLine[] {
  const [, oldFrom, oldCount = '1', newFrom, newCount = '1'] = HUNK.exec(head) ?? [];
  let before = Number(oldFrom);
  let after = Number(newFrom);
  const oldEnd = before + Number(oldCount);
  const newEnd = after + Number(newCount);
  const found: DiffLine[] = [];
  for (let at = from; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const mark = line[0] ?? ' ';
    const text = line.slice(1);
    if (mark === '\\') found.push({ mark, old: null, new: null, text });
    else if (before >= oldEnd && after >= newEnd) break;
    else if (mark === '+') found.push({ mark, old: null, new: after++, text });
    else if (mark === '-') found.push({ mark, old: before++, new: null, text });
    else if (mark === ' ') found.push({ mark, old: before++, new: after++, text });
    else break;
  }
  return found;
}
