import type { DiffBase, FileChange, SessionDiff } from '../../api/diffs.ts';
import { diffLines } from '../terminal/diff.ts';
import { widthOf } from '../terminal/width.ts';
import type { Layout } from './layout.ts';
import { oneLine } from '../../core/lib/plain.ts';
import { counted } from '../../core/lib/counted.ts';

/** The maximum length of the bar of added and removed lines, in columns. */
const BAR = 30;

/**
 * The patches of a diff. A terminal gets them coloured, and what it would obey as code points; a pipe gets them as they
 * are, for `git apply`, after a comment for each file that has none.
 */
export function diffText({ files }: SessionDiff, { isTerminal, columns, palette }: Layout): string {
  if (!isTerminal) {
    const comments = files.filter(isLeftOut).map((file) => `# ${leftOutNote(file)}\n`);
    return [...comments, ...files.map(({ patch }) => patch ?? '')].join('');
  }
  const text = files.map((file) => file.patch ?? insteadOfPatch(file)).join('');
  if (text === '') return text;
  return diffLines(text, { columns, palette })
    .map((line) => `${line}\n`)
    .join('');
}

/** A line for each file, with the number of its changed lines, and a line with their sums. */
export function statText({ files, ...sums }: SessionDiff, { palette }: Layout): string {
  const names = files.map((file) => oneLine(nameOf(file)));
  const width = Math.max(0, ...names.map((name) => widthOf(name)));
  const most = Math.max(1, ...files.map(linesOf));
  const lines = files.map((file, at) => {
    const name = names[at] ?? '';
    const space = ' '.repeat(width - widthOf(name));
    return ` ${name}${space} | ${countOf(file)}${barOf(file, most, palette)}\n`;
  });
  const { files_changed, additions, deletions } = sums;
  if (files_changed === 0) return '';
  const total = `${counted(files_changed, 'file')} changed, ${additions} lines added, ${deletions} removed`;
  return `${lines.join('')}${total}\n`;
}

export function diffNotes(
  { files, base, left_out, left_out_count, ...found }: SessionDiff,
  { exact }: { exact: boolean },
): string[] {
  const notes = exact ? files.filter(isLeftOut).map(leftOutNote) : [];
  if (found.files_changed === 0 && left_out_count === 0)
    notes.push(`no changes ${sinceText(base)}`);
  if (found.files_changed > files.length)
    notes.push(`${found.files_changed - files.length} more changed files are not listed`);
  for (const { path, reason, bytes } of left_out)
    notes.push(
      `${oneLine(path)} was not read: ${{ large: `it has ${bytes} bytes`, limit: 'too much changed', repository: 'it is a separate git repository' }[reason]}`,
    );
  if (left_out_count > left_out.length)
    notes.push(`${left_out_count - left_out.length} more files were not read`);
  else if (found.is_cut && left_out_count === 0)
    notes.push(
      'the diff is incomplete, because there are too many changes: name paths to see the rest',
    );
  return notes;
}

function sinceText({ kind, commit }: DiffBase): string {
  const short = commit?.slice(0, 10) ?? 'the start';
  if (kind === 'worktree')
    return `since ${short}, the last commit shared with the branch that the worktree was created from`;
  if (kind === 'session')
    return `since ${short}, the commit checked out when the session was created`;
  return kind === 'turn' ? 'since the start of that turn' : `since ${short}, the last commit`;
}

function isLeftOut({ patch }: FileChange): boolean {
  return patch === null;
}

/** Says that a patch for `git apply` lacks a file, and why. */
function leftOutNote({ path, no_patch }: FileChange): string {
  const reasons = {
    binary: 'its patch is not UTF-8',
    large: 'it is too large',
    limit: 'the diff is too large: name its path to get it',
    not_asked: 'patches were not requested',
  };
  return `${oneLine(path)} is left out of the patch: ${reasons[no_patch ?? 'limit']}`;
}

/** The header of a file whose lines are not shown, and why they are not. */
function insteadOfPatch(file: FileChange): string {
  const { old_path, path, no_patch, old_bytes, new_bytes } = file;
  const sizes =
    old_bytes === null && new_bytes === null
      ? ''
      : ` (${old_bytes ?? 0} -> ${new_bytes ?? 0} bytes)`;
  const reasons = {
    binary: `Binary file ${file.status.replace('_', ' ')}${sizes}`,
    large: `The file is too large to show${sizes}`,
    limit: 'The diff is too large to show this file: name its path to see it',
    not_asked: '',
  };
  return `diff --git a/${old_path ?? path} b/${path}\n${reasons[no_patch ?? 'limit']}\n`;
}

function nameOf({ old_path, path }: FileChange): string {
  return old_path === null ? path : `${old_path} => ${path}`;
}

function linesOf({ additions, deletions }: FileChange): number {
  return (additions ?? 0) + (deletions ?? 0);
}

function countOf({ additions, status, old_bytes, new_bytes, ...file }: FileChange): string {
  const what = additions === null ? 'not text' : `+${additions} -${file.deletions}`;
  const sizes = additions === null ? `, ${old_bytes ?? 0} -> ${new_bytes ?? 0} bytes` : '';
  const isPlain = status === 'modified' || status === 'renamed';
  return `${what}${sizes}${isPlain ? '' : `, ${status.replace('_', ' ')}`}`;
}

function barOf(
  { additions, deletions }: FileChange,
  most: number,
  palette: Layout['palette'],
): string {
  const scaled = (lines: number | null) =>
    most <= BAR ? (lines ?? 0) : Math.ceil(((lines ?? 0) * BAR) / most);
  const [plus, minus] = [scaled(additions), scaled(deletions)];
  if (plus + minus === 0) return '';
  return ` ${palette.added('+'.repeat(plus))}${palette.removed('-'.repeat(minus))}`;
}
