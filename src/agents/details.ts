import { formatPatch, FILE_HEADERS_ONLY, structuredPatch, type StructuredPatchHunk } from 'diff';
import type { ApprovalDetail, Question } from '../api/approvals.ts';
import { filledFields } from '../core/lib/filled-fields.ts';
import { shellWord } from '../core/lib/shell-word.ts';
import { cutTitle } from '../core/lib/cut-title.ts';

/**
 * The number of lines that a diff may add and remove before the search for a shorter one ends: its time grows with
 * their square, and nothing else runs meanwhile.
 */
const MAX_SEARCHED_LINES = 500;
const NO_FILE = '/dev/null';
const NO_NEWLINE = '\\ No newline at end of file';

/** More fields than these are one detail: all of them, as the agent sent them. */
const MAX_FIELDS = 1000;

/**
 * Returns the fields of a request as details, without fields that are null or that other details show. A value that is
 * not a record gets the name `input`.
 */
export function inputDetails(input: unknown, shown: readonly string[] = []): ApprovalDetail[] {
  if (input === undefined || input === null) return [];
  if (typeof input !== 'object' || Array.isArray(input))
    return [{ type: 'input', name: 'input', value: input }];
  const fields = filledFields(input, shown);
  if (fields.length > MAX_FIELDS)
    return [{ type: 'input', name: 'input', value: Object.fromEntries(fields) }];
  return fields.map(([name, value]) => ({ type: 'input', name, value }));
}

/** The answers of people, by the names that they have for the questions. */
export type Answers = Readonly<Record<string, readonly string[]>>;

/** The answer to a question, which is named by its id, or by its text or heading where that is the id of no question. */
export function answerTo(
  { id, question, header }: Question,
  among: readonly Question[],
  answers: Answers,
): readonly string[] | undefined {
  const texts = [question, header ?? id].filter((text) => !among.some((one) => one.id === text));
  const name = [id, ...texts].find((one) => Object.hasOwn(answers, one));
  return name === undefined ? undefined : answers[name];
}

/** A command with the directory it runs in. A list of words is written as a shell would read them. */
export function commandDetail(
  command: string | readonly string[],
  cwd: string | null,
): ApprovalDetail {
  const line = typeof command === 'string' ? command : command.map(shellWord).join(' ');
  return { type: 'command', command: line, cwd };
}

/**
 * The change of a file from `before` to `after` as a unified diff; null where there is no file. `among` is the number of
 * files that change with it: together they are searched for no longer than one.
 */
export function unifiedDiff(
  path: string,
  before: string | null,
  after: string | null,
  among = 1,
): string {
  const searchedLines = Math.floor(MAX_SEARCHED_LINES / Math.sqrt(among));
  const patch = {
    oldFileName: before === null ? NO_FILE : path,
    newFileName: after === null ? NO_FILE : path,
    oldHeader: undefined,
    newHeader: undefined,
    hunks: hunksOf(before ?? '', after ?? '', searchedLines),
  };
  return formatPatch(patch, FILE_HEADERS_ONLY);
}

/** The change of a file whose hunks are already written as a unified diff without its header. */
export function hunksDetail(path: string, hunks: string, movedTo = path): ApprovalDetail {
  const isHeaded = movedTo === path && /^--- /m.test(hunks.split('@@', 1)[0] ?? '');
  const header = isHeaded ? '' : `--- ${path}\n+++ ${movedTo}\n`;
  return { type: 'diff', path, diff: header + hunks };
}

/** The hunks of the shortest diff, where it is found in time; else one hunk that replaces everything. */
function hunksOf(before: string, after: string, maxEditLength: number): StructuredPatchHunk[] {
  if (before === after) return [];
  const options = { context: 3, maxEditLength };
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

/**
 * Returns the one-line title of a request: the agent's own title, and then the effect of the tool unless the title
 * contains it.
 */
export function approvalTitle(title: string, detail: string | null): string {
  const [name, rest] = [onOneLine(endsOf(title)), onOneLine(endsOf(detail ?? ''))];
  return cutTitle(name.includes(rest) ? name : `${name}: ${rest}`);
}

/** The two ends of a text that is too long to be a title: its middle is cut anyway. */
function endsOf(text: string): string {
  return text.length > 2 * END ? `${text.slice(0, END)} … ${text.slice(-END)}` : text;
}

const END = 4096;

export function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
