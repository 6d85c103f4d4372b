import type { ToolCallContent, ToolKind } from '@agentclientprotocol/sdk/unstable';
import type { ToolCall } from '../../api/tool-call.ts';
import { lastBytes } from '../../core/lib/cut.ts';

/** The maximum part of the output of a tool that is sent, in bytes. */
export const MAX_BYTES = 1024 * 1024;

/** A tool call, as items and events show it. */
export interface DisplayedTool extends Pick<
  ToolCall,
  'call_ref' | 'title' | 'kind' | 'locations' | 'diffs'
> {
  input?: unknown;
}

interface ToolContent {
  output?: string;
  /** The changes of files in the approval request, if the call itself has none. */
  changes?: readonly ToolCallContent[] | undefined;
}

/** The fields of a tool call for the editor. An absent field does not change. */
export function toolFields(
  item_id: string,
  { title, kind, input, diffs = [], locations = [] }: DisplayedTool,
  status: string,
  { output = '', changes = [] }: ToolContent = {},
) {
  const diffContents = diffs.flatMap(({ path, diff }) => diffContent(path, diff));
  const content = [
    ...(diffContents.length > 0 ? diffContents : changes),
    ...textContent(without(output, diffs)),
  ];
  return {
    toolCallId: item_id,
    title,
    kind: kinds.find((one) => one === kind) ?? 'other',
    status: statuses.get(status) ?? ('in_progress' as const),
    ...(content.length > 0 ? { content } : {}),
    ...(locations.length > 0
      ? { locations: locations.map(({ path, line }) => ({ path, line })) }
      : {}),
    ...(input === undefined || input === null ? {} : { rawInput: input }),
  };
}

export function diffContent(path: string, diff: string): ToolCallContent[] {
  return changesIn(diff).map((change) => ({ type: 'diff', path, ...change }));
}

/** A text as the content of a tool call; of a very long one the end. */
export function textContent(text: string): ToolCallContent[] {
  if (text === '') return [];
  return [{ type: 'content', content: { type: 'text', text: lastBytes(text, MAX_BYTES) } }];
}

/** An output without its diffs, which are sent separately. */
function without(output: string, diffs: NonNullable<DisplayedTool['diffs']>): string {
  const rest = diffs.reduce((text, { diff }) => text.replace(diff, () => ''), output);
  return rest.trim() === '' ? '' : rest;
}

const statuses = new Map([
  ['pending', 'pending' as const],
  ['running', 'in_progress' as const],
  ['open', 'in_progress' as const],
  ['completed', 'completed' as const],
  ['failed', 'failed' as const],
  ['interrupted', 'failed' as const],
]);

const kinds: readonly ToolKind[] = [
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'switch_mode',
];

interface Change {
  /** Null for a file that is new. */
  oldText: string | null;
  newText: string;
}

/** The changes in a unified diff of one file: one for each of its hunks, with the lines around. */
export function changesIn(diff: string): Change[] {
  const [header = '', ...hunks] = diff.split(/^@@.*\n?/m);
  const isNew = /^--- \/dev\/null$/m.test(header);
  if (hunks.length === 0) return [{ oldText: isNew ? null : '', newText: '' }];
  return hunks.map((hunk) => ({
    oldText: isNew ? null : side(hunk, '-'),
    newText: side(hunk, '+'),
  }));
}

/** The lines of a hunk on one side of the change. */
function side(hunk: string, sign: '-' | '+'): string {
  let text = '';
  let isMine = false;
  for (const line of hunk.replace(/\n$/, '').split('\n')) {
    // "\ No newline at end of file" is about the line before it.
    if (line.startsWith('\\')) {
      if (isMine) text = text.replace(/\n$/, '');
      continue;
    }
    isMine = line.startsWith(sign) || !/^[+-]/.test(line);
    if (isMine) text += `${line.slice(1)}\n`;
  }
  return text;
}
