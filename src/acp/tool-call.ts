import type {
  ToolCallContent,
  ToolCallLocation,
  ToolKind,
} from '@agentclientprotocol/sdk/unstable';
import { z } from 'zod';
import { lastBytes } from '../lib/cut.ts';

/** How much of the output of a tool is sent. */
const MAX_BYTES = 1024 * 1024;

/** A tool call, as items and events show it. */
export interface ShownTool {
  call_ref: string;
  title: string;
  kind: string;
  input?: unknown;
}

/** What the editor is told of a tool call, each time whole. */
export function toolFields(
  item_id: string,
  tool: ShownTool,
  status: string,
  { output = '', changes = [] }: ToolContent = {},
) {
  const known = extras.parse(tool);
  const content = [
    ...(known.diffs.length > 0 ? known.diffs.map(changeOf) : changes),
    ...textContent(output),
  ];
  const locations = known.locations.map(({ path, line }): ToolCallLocation => ({
    path,
    line: line ?? null,
  }));
  return {
    toolCallId: item_id,
    title: tool.title,
    kind: kindOf(tool.kind),
    status: statuses.get(status) ?? ('in_progress' as const),
    // What is left out stays as it was.
    ...(content.length > 0 ? { content } : {}),
    ...(locations.length > 0 ? { locations } : {}),
    ...(tool.input === undefined || tool.input === null ? {} : { rawInput: tool.input }),
  };
}

/** What a tool call has caused. */
interface ToolContent {
  output?: string;
  /** The changes of files that a person was asked for, where the call itself tells of none. */
  changes?: readonly ToolCallContent[];
}

function changeOf({ path, old_text, new_text }: z.output<typeof diff>): ToolCallContent {
  return { type: 'diff', path, oldText: old_text ?? null, newText: new_text };
}

/** A text as the content of a tool call; of a very long one the end. */
export function textContent(text: string): ToolCallContent[] {
  if (text === '') return [];
  return [{ type: 'content', content: { type: 'text', text: lastBytes(text, MAX_BYTES) } }];
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

function kindOf(kind: string): ToolKind {
  return kinds.find((one) => one === kind) ?? 'other';
}

const diff = z.looseObject({
  path: z.string(),
  old_text: z.string().nullish(),
  new_text: z.string(),
});

/** What some agents tell of a call beyond the usual. */
const extras = z.looseObject({
  locations: z.array(z.looseObject({ path: z.string(), line: z.int().nullish() })).catch([]),
  diffs: z.array(diff).catch([]),
});
