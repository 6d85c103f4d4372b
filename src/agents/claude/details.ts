import { z } from 'zod';
import type { ApprovalDetail } from '../../api/approvals.ts';
import { MessageBudget } from '../budget.ts';
import { commandDetail } from '../details.ts';
import { inputDetails } from '../provider.ts';
import { edited, type Edit } from './edited.ts';
import { cellSource } from './notebook.ts';
import { type FileContent, readFileContent } from '../known-file.ts';

type Input = Readonly<Record<string, unknown>>;

/**
 * All that a tool would do, for people. Tools that change a file are shown by the change, made from the file as it is
 * now; where the file cannot be read, or the edit does not fit it, by their input.
 */
export async function detailsOf(
  tool: string,
  input: Input,
  cwd: string,
): Promise<ApprovalDetail[]> {
  return (await shownAs[tool]?.(input, cwd)) ?? inputDetails(input);
}

/** What a tool is shown as instead of its input; null where its input does not have the fields for that. */
const shownAs: Record<
  string,
  (input: Input, cwd: string) => Promise<ApprovalDetail[] | null> | ApprovalDetail[] | null
> = {
  AskUserQuestion: (input) => inputDetails(input, ['questions']),
  Bash(input, cwd) {
    const { command } = input;
    if (typeof command !== 'string') return null;
    return [commandDetail(command, cwd), ...inputDetails(input, ['command'])];
  },
  async Write(input, cwd) {
    const { data } = write.safeParse(input);
    if (!data) return null;
    const { file_path: path, content } = data;
    const known = await readFileContent(path, cwd);
    if (known.is === 'unread') return [...inputDetails(input), unread(path, known)];
    const others = inputDetails(input, ['file_path', 'content']);
    return changeOf(path, known.text, content, others);
  },
  async Edit(input, cwd) {
    const { data } = edit.safeParse(input);
    return data ? edits(data.file_path, [data], input, cwd) : null;
  },
  async MultiEdit(input, cwd) {
    const { data } = multiEdit.safeParse(input);
    return data ? edits(data.file_path, data.edits, input, cwd) : null;
  },
  async NotebookEdit(input, cwd) {
    const { data } = notebookEdit.safeParse(input);
    if (!data) return null;
    const { notebook_path: path, cell_id, edit_mode: mode, new_source } = data;
    const known = await readFileContent(path, cwd);
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
  replace_all: z.boolean().nullish().catch(null),
});
const edit = oneEdit.extend({ file_path: z.string() });
const multiEdit = z.looseObject({ file_path: z.string(), edits: z.array(oneEdit) });
const write = z.looseObject({ file_path: z.string(), content: z.string() });
const notebookEdit = z.looseObject({
  notebook_path: z.string(),
  cell_id: z.string().nullish(),
  edit_mode: z.string().nullish(),
  new_source: z.string().catch(''),
});

async function edits(
  path: string,
  changes: readonly Edit[],
  input: Input,
  cwd: string,
): Promise<ApprovalDetail[] | null> {
  const known = await readFileContent(path, cwd);
  if (known.is === 'unread') return [...inputDetails(input), unread(path, known)];
  const after = edited(known.text, changes);
  if (after === null) return null;
  const shown = ['file_path', 'old_string', 'new_string', 'replace_all', 'edits'];
  return changeOf(path, known.text, after, inputDetails(input, shown));
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

function unread(
  path: string,
  { why, bytes }: Extract<FileContent, { is: 'unread' }>,
): ApprovalDetail {
  return { type: 'omitted', name: `current content of ${path}: ${why}`, bytes };
}
