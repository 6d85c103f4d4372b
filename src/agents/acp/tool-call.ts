import { z } from 'zod';
import type { AgentUpdate, ToolChange } from '../provider.ts';
import { shorten } from '../../core/lib/shorten.ts';
import { MessageBudget } from '../budget.ts';
import { blockText } from './blocks.ts';
import { arrayOf, idText, maybe, maybeText } from '../lenient.ts';

/** The longest title and kind of a call that are shown. Each event of the call has both. */
const MAX_TITLE = 4096;
const MAX_KIND = 100;

const toolCall = z.looseObject({
  sessionUpdate: maybeText,
  toolCallId: idText,
  title: maybeText,
  name: maybeText,
  kind: maybeText,
  status: maybeText,
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  content: maybe(z.array(z.unknown())),
  locations: maybe(arrayOf(z.object({ path: z.string(), line: maybe(z.int().min(0)) }))),
});

/** Reads a tool call in any of the messages that show one: these come in any order and combination. */
export function readToolCall(
  raw: unknown,
  budget = new MessageBudget(),
): Extract<AgentUpdate, { type: 'tool' }> | 'unknown' {
  const { data } = toolCall.safeParse(raw);
  if (!data) return 'unknown';
  const change: ToolChange = {};
  const title = data.title || (data.sessionUpdate === 'tool_call' && data.name);
  if (title) change.title = shorten(title, MAX_TITLE);
  if (data.kind) change.kind = shorten(data.kind, MAX_KIND);
  if (data.rawInput !== undefined && data.rawInput !== null) change.input = data.rawInput;
  if (data.locations) change.locations = data.locations;
  const diffs = diffsOf(data.content ?? [], budget);
  if (diffs.length > 0) change.diffs = diffs;
  const output = contentText(data.content ?? [], budget) ?? rawOutputText(data.rawOutput);
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

const diffPart = z.looseObject({
  type: z.literal('diff'),
  path: z.string(),
  oldText: maybeText,
  newText: z.string(),
});
const blockPart = z.looseObject({ content: z.looseObject({ type: z.string() }) });
/** Some agents leave the type of a text out. */
const textPart = z.looseObject({ content: z.looseObject({ text: z.string() }) });
const otherPart = z.looseObject({ type: z.string() });

/** The text of a part of the content of a call; undefined for a part of another type. */
export function textIn(part: unknown): string | undefined {
  return textPart.safeParse(part).data?.content.text;
}

export function diffsIn(content: readonly unknown[]): z.output<typeof diffPart>[] {
  return content.flatMap((part) => diffPart.safeParse(part).data ?? []);
}

/** The diffs among the parts of a call's content, each as a unified diff. */
function diffsOf(
  content: readonly unknown[],
  budget: MessageBudget,
): NonNullable<ToolChange['diffs']> {
  const found = diffsIn(content);
  return found.flatMap(({ path, oldText, newText }) => {
    const diff = budget.diff(path, oldText, newText, found.length);
    return diff === null ? [] : [{ path, diff }];
  });
}

/** The content of a call as text; null where it has none that can be shown, as a terminal. */
export function contentText(content: readonly unknown[], budget: MessageBudget): string | null {
  const among = diffsIn(content).length;
  const texts = content.flatMap((part) => {
    const change = diffPart.safeParse(part).data;
    if (change) {
      const { path, oldText, newText } = change;
      return budget.diff(path, oldText, newText, among) ?? `[${path}: omitted, too large]`;
    }
    const block = blockPart.safeParse(part).data?.content;
    const shownText = block === undefined ? null : blockText(block);
    if (shownText !== null) return [shownText];
    const untyped = textIn(part);
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
