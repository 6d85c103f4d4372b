import { z } from 'zod';
import type { AgentUpdate, ToolChange } from '../provider.ts';
import { unifiedDiff } from '../details.ts';
import { blockText } from './blocks.ts';
import { arrayOf } from './lenient.ts';

const text = z.string().nullish().catch(null);
const toolCall = z.looseObject({
  sessionUpdate: text,
  toolCallId: z.string(),
  title: text,
  name: text,
  kind: text,
  status: text,
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  content: z.array(z.unknown()).nullish().catch(null),
  locations: arrayOf(
    z.looseObject({ path: z.string(), line: z.int().min(0).nullish().catch(null) }),
  )
    .nullish()
    .catch(null),
});

/** Reads a tool call in any of the messages that show one: these come in any order and combination. */
export function readToolCall(raw: unknown): Extract<AgentUpdate, { type: 'tool' }> | 'unknown' {
  const { data } = toolCall.safeParse(raw);
  if (!data) return 'unknown';
  const change: ToolChange = {};
  const title = data.title || (data.sessionUpdate === 'tool_call' && data.name);
  if (title) change.title = title;
  if (data.kind) change.kind = data.kind;
  if (data.rawInput !== undefined && data.rawInput !== null) change.input = data.rawInput;
  if (data.locations)
    change.locations = data.locations.map(({ path, line }) => ({ path, line: line ?? null }));
  const diffs = diffsOf(data.content ?? []);
  if (diffs.length > 0) change.diffs = diffs;
  const output = contentText(data.content ?? []) ?? rawOutputText(data.rawOutput);
  if (output !== null) change.output = output;
  const status = toolStatus.get(data.status ?? '');
  if (status) change.status = status;
  return { type: 'tool', ref: data.toolCallId, change };
}

const toolStatus = new Map<string, NonNullable<ToolChange['status']>>([
  ['pending', 'pending'],
  ['in_progress', 'running'],
  ['completed', 'completed'],
  ['failed', 'failed'],
]);

export const diffPart = z.looseObject({
  type: z.literal('diff'),
  path: z.string(),
  oldText: z.string().nullish().catch(null),
  newText: z.string(),
});
const blockPart = z.looseObject({ content: z.looseObject({ type: z.string() }) });
/** Some agents leave the type of a text out. */
const textPart = z.looseObject({ content: z.looseObject({ text: z.string() }) });
const otherPart = z.looseObject({ type: z.string() });

/** The diffs among the parts of a call's content, each as a unified diff. */
function diffsOf(content: readonly unknown[]): NonNullable<ToolChange['diffs']> {
  const found = content.flatMap((part) => diffPart.safeParse(part).data ?? []);
  return found.map(({ path, oldText, newText }) => ({
    path,
    diff: unifiedDiff(path, oldText ?? null, newText, found.length),
  }));
}

/** The content of a call as text; null where it has none that can be shown, as a terminal. */
export function contentText(content: readonly unknown[]): string | null {
  const diffs = diffsOf(content).values();
  const texts = content.flatMap((part) => {
    if (diffPart.safeParse(part).success) return diffs.next().value?.diff ?? [];
    const block = blockPart.safeParse(part).data?.content;
    const said = block === undefined ? null : blockText(block);
    if (said !== null) return [said];
    const untyped = textPart.safeParse(part).data?.content.text;
    if (untyped !== undefined) return [untyped];
    const type = block?.type ?? otherPart.safeParse(part).data?.type ?? 'terminal';
    return type === 'terminal' ? [] : [`[${type}: not shown]`];
  });
  return texts.length > 0 ? texts.join('\n') : null;
}

const outputInside = z.union([
  z.looseObject({ output: z.string() }).transform(({ output }) => output),
  z.looseObject({ formatted_output: z.string() }).transform((raw) => raw.formatted_output),
]);

function rawOutputText(rawOutput: unknown): string | null {
  if (rawOutput === undefined || rawOutput === null) return null;
  if (typeof rawOutput === 'string') return rawOutput;
  return outputInside.safeParse(rawOutput).data ?? JSON.stringify(rawOutput);
}
