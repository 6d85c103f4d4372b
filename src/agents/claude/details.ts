import { isUtf8 } from 'node:buffer';
import fs from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { ApprovalDetail } from '../../api/approvals.ts';
import { parsedJson } from '../../core/lib/parsed-json.ts';
import { MessageBudget } from '../budget.ts';
import { commandDetail, inputDetails } from '../details.ts';
import type { FileOutside } from '../../core/children/sandbox/files.ts';
import { realPath } from '../../core/lib/paths.ts';
import { ForeignFileError, readForeignFile } from '../../core/lib/foreign-file.ts';
import { maybe, maybeText } from '../lenient.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';
import { codeOf } from '../../core/lib/system-error.ts';

type Input = Readonly<Record<string, unknown>>;

/** The directory of the session, and the files that its agent sees. */
interface SessionFiles {
  cwd: string;
  fileOutside: FileOutside;
}

/**
 * All that a tool would do, for people. Tools that change a file are shown by the change, made from the file as it is
 * now; where the file cannot be read, or the edit does not fit it, by their input.
 */
export async function detailsOf(
  tool: string,
  input: Input,
  cwd: string,
  fileOutside: FileOutside = realPath,
): Promise<ApprovalDetail[]> {
  return (await ownEntry(shownAs, tool)?.(input, cwd, fileOutside)) ?? inputDetails(input);
}

/** Returns the details that are shown instead of the input of a tool. Null if the input lacks their fields. */
const shownAs: Record<
  string,
  (
    input: Input,
    cwd: string,
    fileOutside: FileOutside,
  ) => Promise<ApprovalDetail[] | null> | ApprovalDetail[] | null
> = {
  AskUserQuestion: (input) => inputDetails(input, ['questions']),
  Bash(input, cwd) {
    const { command } = input;
    if (typeof command !== 'string') return null;
    return [commandDetail(command, cwd), ...inputDetails(input, ['command'])];
  },
  Write(input, cwd, fileOutside) {
    const { data } = write.safeParse(input);
    if (!data) return null;
    const others = inputDetails(input, ['file_path', 'content']);
    return changeBy(() => data.content, { path: data.file_path, cwd, fileOutside, input, others });
  },
  Edit(input, cwd, fileOutside) {
    const { data } = edit.safeParse(input);
    return data ? edits(data.file_path, [data], input, { cwd, fileOutside }) : null;
  },
  MultiEdit(input, cwd, fileOutside) {
    const { data } = multiEdit.safeParse(input);
    return data ? edits(data.file_path, data.edits, input, { cwd, fileOutside }) : null;
  },
  async NotebookEdit(input, cwd, fileOutside) {
    const { data } = notebookEdit.safeParse(input);
    if (!data) return null;
    const { notebook_path: path, cell_id, edit_mode: mode, new_source } = data;
    const known = await readFileContent(path, { cwd, fileOutside });
    const source = known.is === 'unread' ? null : cellSource(known.text, cell_id);
    if (source === null) return null;
    const before = mode === 'insert' ? '' : source;
    const after = mode === 'delete' ? '' : new_source;
    const others = inputDetails(input, ['notebook_path', 'new_source']);
    return changeOf(path, before, after, others);
  },
};

const oneEdit = z.looseObject({
  old_string: z.string(),
  new_string: z.string(),
  replace_all: maybe(z.boolean()),
});
type Edit = z.output<typeof oneEdit>;
const edit = oneEdit.extend({ file_path: z.string() });
const multiEdit = z.looseObject({ file_path: z.string(), edits: z.array(oneEdit) });
const write = z.looseObject({ file_path: z.string(), content: z.string() });
const notebookEdit = z.looseObject({
  notebook_path: z.string(),
  cell_id: maybeText,
  edit_mode: maybeText,
  new_source: z.string().catch(''),
});

function edits(
  path: string,
  changes: readonly Edit[],
  input: Input,
  files: SessionFiles,
): Promise<ApprovalDetail[] | null> {
  const shown = ['file_path', 'old_string', 'new_string', 'replace_all', 'edits'];
  const others = inputDetails(input, shown);
  return changeBy((before) => edited(before, changes), { ...files, path, input, others });
}

/** The change of a file whose new content `after` makes of the current one; null where that does not fit. */
async function changeBy(
  after: (before: string | null) => string | null,
  {
    path,
    input,
    others,
    ...files
  }: SessionFiles & { path: string; input: Input; others: ApprovalDetail[] },
): Promise<ApprovalDetail[] | null> {
  const known = await readFileContent(path, files);
  if (known.is === 'unread') {
    const name = `current content of ${path}: ${known.why}`;
    return [...inputDetails(input), { type: 'omitted', name, bytes: known.bytes }];
  }
  const content = after(known.text);
  return content === null ? null : changeOf(path, known.text, content, others);
}

/** The change of a file, and what else the input has; null where the change is too large to be compared. */
function changeOf(
  path: string,
  before: string | null,
  after: string,
  others: readonly ApprovalDetail[],
): ApprovalDetail[] | null {
  const diff = new MessageBudget().diff(path, before, after);
  return diff === null ? null : [{ type: 'diff', path, diff }, ...others];
}

/** The limits of what is worked out, in UTF-16 code units: of a result, and of all that is searched for it. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
const MAX_SEARCHED = 64 * 1024 * 1024;

/**
 * The content of a file after some edits, each made on the result of the one before; `null` stands for no file. Null
 * where an edit does not fit: its text is not there, or is there several times and is to be replaced once. Null also
 * where that would be too much work: nothing else runs meanwhile.
 */
function edited(before: string | null, edits: readonly Edit[]): string | null {
  let content = before;
  let searched = 0;
  for (const edit of edits) {
    searched += content?.length ?? 0;
    if (searched > MAX_SEARCHED) return null;
    content = afterOne(content ?? '', edit);
    if (content === null) return null;
  }
  return content;
}

/** An edit of an empty text writes a file that is new or empty. */
function afterOne(
  content: string,
  { old_string: old, new_string: text, replace_all: all }: Edit,
): string | null {
  if (old === '') return content === '' ? text : null;
  const parts = content.split(old);
  const times = parts.length - 1;
  if (times === 0 || (times > 1 && !all)) return null;
  const length = content.length + times * (text.length - old.length);
  return length > MAX_CHARACTERS ? null : parts.join(text);
}

const notebook = z
  .looseObject({
    cells: z.array(
      z.looseObject({
        id: maybeText,
        source: z.union([z.string(), z.array(z.string()).transform((lines) => lines.join(''))]),
      }),
    ),
  })
  .catch({ cells: [] });

/**
 * Returns the source of a notebook cell by its id or, if cells have no ids, by its position, such as `cell-3`. Empty
 * without an id. Null if the cell does not exist.
 */
function cellSource(content: string | null, cellId: string | null): string | null {
  if (cellId === null) return '';
  const { cells } = notebook.parse(parsedJson(content ?? ''));
  const index = Number(/^cell-(\d+)$/.exec(cellId)?.[1]);
  return (cells.find(({ id }) => id === cellId) ?? cells[index])?.source ?? null;
}

const MAX_BYTES = 1024 * 1024;

/** The content of a file that an agent names. `text` is null if the file does not exist. */
type FileContent =
  | { is: 'read'; text: string | null }
  | { is: 'unread'; why: string; bytes: number };

/** Reads a text file of at most 1 MiB to show what an agent would change in it. Never throws. */
async function readFileContent(
  name: string,
  { cwd, fileOutside }: SessionFiles,
): Promise<FileContent> {
  try {
    const real = await fileOutside(path.resolve(cwd, name));
    if (real === null) return { is: 'unread', why: 'not visible in the sandbox', bytes: 0 };
    const { size } = await fs.stat(real);
    if (size > MAX_BYTES) return { is: 'unread', why: 'larger than 1 MiB', bytes: size };
    const bytes = await readForeignFile('/', path.relative('/', real), { maxBytes: MAX_BYTES });
    if (bytes === null) return { is: 'read', text: null };
    if (!isUtf8(bytes)) return { is: 'unread', why: 'not a text file', bytes: bytes.length };
    return { is: 'read', text: bytes.toString('utf8') };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { is: 'read', text: null };
    const why =
      error instanceof ForeignFileError ? 'not a regular file' : codeOf(error) || 'unknown';
    return { is: 'unread', why: `not readable (${why})`, bytes: 0 };
  }
}
