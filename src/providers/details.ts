import { formatPatch, FILE_HEADERS_ONLY, structuredPatch, type StructuredPatchHunk } from 'diff';
import type { ApprovalDetail } from '../api/approvals.ts';

/**
 * The number of lines that a diff may add and remove before the search for a shorter one ends: its time grows with
 * their square, and nothing else runs meanwhile.
 */
const MAX_SEARCHED_LINES = 500;
const NO_FILE = '/dev/null';
const NO_NEWLINE = '\\ No newline at end of file';

/** A command with the directory it runs in. A list of words is written as a shell would read them. */
export function commandDetail(
  command: string | readonly string[],
  cwd: string | null,
): ApprovalDetail {
  const line = typeof command === 'string' ? command : command.map(quoted).join(' ');
  return { type: 'command', command: line, cwd };
}

/** The change of a file from `before` to `after`; null where there is no file. `movedTo` is its new path. */
export function diffDetail(
  path: string,
  before: string | null,
  after: string | null,
  movedTo = path,
): ApprovalDetail {
  const from = before === null ? NO_FILE : path;
  const to = after === null ? NO_FILE : movedTo;
  const hunks = hunksOf(before ?? '', after ?? '');
  const patch = {
    oldFileName: from,
    newFileName: to,
    oldHeader: undefined,
    newHeader: undefined,
    hunks,
  };
  return { type: 'diff', path, diff: formatPatch(patch, FILE_HEADERS_ONLY) };
}

/** The change of a file whose hunks are already written as a unified diff without its header. */
export function hunksDetail(path: string, hunks: string, movedTo = path): ApprovalDetail {
  const header = /^--- /m.test(hunks.split('@@', 1)[0] ?? '')
    ? ''
    : `--- ${path}\n+++ ${movedTo}\n`;
  return { type: 'diff', path, diff: header + hunks };
}

/** The hunks of the shortest diff, where it is found in time; else one hunk that replaces everything. */
function hunksOf(before: string, after: string): StructuredPatchHunk[] {
  if (before === after) return [];
  const options = { context: 3, maxEditLength: MAX_SEARCHED_LINES };
  const isSearched = before !== '' && after !== '';
  const found = isSearched
    ? structuredPatch('', '', before, after, undefined, undefined, options)
    : undefined;
  return found?.hunks ?? [replacement(before, after)];
}

function replacement(before: string, after: string): StructuredPatchHunk {
  const [removed, added] = [linesOf(before), linesOf(after)];
  return {
    oldStart: 1,
    oldLines: removed.length,
    newStart: 1,
    newLines: added.length,
    lines: [...marked('-', before, removed), ...marked('+', after, added)],
  };
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

function marked(mark: string, text: string, lines: readonly string[]): string[] {
  const isOpen = text !== '' && !text.endsWith('\n');
  return [...lines.map((line) => mark + line), ...(isOpen ? [NO_NEWLINE] : [])];
}

/** A word as a shell reads it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
