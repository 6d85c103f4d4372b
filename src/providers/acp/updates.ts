import { z } from 'zod';
import type { Usage } from '../../api/sessions.ts';
import type { AgentUpdate, ToolChange } from '../provider.ts';

/** Kinds that say nothing about the course of a turn. */
const IGNORED = new Set([
  'available_commands_update',
  'config_option_update',
  'current_mode_update',
  'session_info_update',
  'user_message_chunk',
]);

/**
 * Turns a `session/update` into an update. It is read leniently: agents send kinds, fields and values of their own, and
 * what cadre does not know is counted, not refused.
 */
export function readUpdate(raw: unknown): AgentUpdate | 'ignored' | 'unknown' {
  const kind = z.looseObject({ sessionUpdate: z.string() }).safeParse(raw).data?.sessionUpdate;
  switch (kind) {
    case 'agent_message_chunk':
    case 'agent_thought_chunk':
      return readChunk(raw, kind === 'agent_message_chunk' ? 'message' : 'reasoning');
    case 'tool_call':
    case 'tool_call_update':
      return readToolCall(raw);
    case 'plan':
      return readPlan(raw);
    case 'usage_update':
      return readUsageUpdate(raw);
    default:
      return IGNORED.has(kind ?? '') ? 'ignored' : 'unknown';
  }
}

const chunk = z.looseObject({
  messageId: z.string().nullish(),
  content: z.looseObject({ type: z.string(), text: z.string().optional() }),
});

function readChunk(raw: unknown, type: 'message' | 'reasoning'): AgentUpdate | 'unknown' {
  const { data } = chunk.safeParse(raw);
  if (data?.content.text === undefined) return 'unknown';
  return { type, text: data.content.text, ...(data.messageId ? { ref: data.messageId } : {}) };
}

const toolCall = z.looseObject({
  toolCallId: z.string(),
  title: z.string().nullish().catch(null),
  kind: z.string().nullish().catch(null),
  status: z.string().nullish().catch(null),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  content: z.array(z.unknown()).nullish().catch(null),
});

/** Reads a tool call in any of the messages that show one: these come in any order and combination. */
export function readToolCall(raw: unknown): Extract<AgentUpdate, { type: 'tool' }> | 'unknown' {
  const { data } = toolCall.safeParse(raw);
  if (!data) return 'unknown';
  const change: ToolChange = {};
  if (data.title) change.title = data.title;
  if (data.kind) change.kind = data.kind;
  if (data.rawInput !== undefined && data.rawInput !== null) change.input = data.rawInput;
  const output = outputOf(data.content ?? [], data.rawOutput);
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

const contentText = z.looseObject({ content: z.looseObject({ text: z.string() }) });
const contentDiff = z.looseObject({
  type: z.literal('diff'),
  path: z.string(),
  newText: z.string(),
});
const rawOutputText = z.looseObject({ output: z.string() });

/** The output of a tool as text: its content, else its raw output. Null where the message shows neither. */
function outputOf(content: unknown[], rawOutput: unknown): string | null {
  const texts = content.flatMap((part) => {
    const text = contentText.safeParse(part).data?.content.text;
    if (text !== undefined) return [text];
    const diff = contentDiff.safeParse(part).data;
    return diff ? [`+++ ${diff.path}\n${diff.newText}`] : [];
  });
  if (texts.length > 0) return texts.join('\n');
  if (rawOutput === undefined || rawOutput === null) return null;
  if (typeof rawOutput === 'string') return rawOutput;
  return rawOutputText.safeParse(rawOutput).data?.output ?? JSON.stringify(rawOutput);
}

const plan = z.looseObject({
  entries: z.array(
    z.looseObject({
      content: z.string(),
      status: z.string().catch('pending'),
      priority: z.string().nullish().catch(null),
    }),
  ),
});

function readPlan(raw: unknown): AgentUpdate | 'unknown' {
  const { data } = plan.safeParse(raw);
  if (!data) return 'unknown';
  const entries = data.entries.map(({ content, status, priority }) => ({
    content,
    status,
    priority: priority ?? null,
  }));
  return { type: 'plan', entries };
}

const usageUpdate = z.looseObject({
  used: z.number().nullish(),
  size: z.number().nullish(),
  cost: z.looseObject({ amount: z.number(), currency: z.string() }).nullish().catch(null),
});

/** How full the context is, and what the whole session has cost so far. */
function readUsageUpdate(raw: unknown): AgentUpdate | 'unknown' {
  const { data } = usageUpdate.safeParse(raw);
  if (!data) return 'unknown';
  const usage: Partial<Usage> = {};
  if (data.used !== undefined) usage.context_tokens = data.used;
  if (data.size !== undefined) usage.context_window = data.size;
  if (data.cost?.currency === 'USD') usage.cost_usd = data.cost.amount;
  return { type: 'usage', usage };
}

const promptUsage = z.looseObject({
  inputTokens: z.number().nullish(),
  outputTokens: z.number().nullish(),
  cachedReadTokens: z.number().nullish(),
  totalTokens: z.number().nullish(),
});

/** The usage in the answer to a prompt; undefined where there is none. */
export function readPromptUsage(raw: unknown): Partial<Usage> | undefined {
  const { data } = promptUsage.safeParse(raw);
  if (!data) return undefined;
  return {
    input_tokens: data.inputTokens ?? null,
    output_tokens: data.outputTokens ?? null,
    cached_input_tokens: data.cachedReadTokens ?? null,
    total_tokens: data.totalTokens ?? null,
  };
}
