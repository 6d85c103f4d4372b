import { z } from 'zod';
import type { AgentUpdate } from '../provider.ts';
import { MessageBudget } from '../budget.ts';
import { blockText, isTextBlock } from './blocks.ts';
import { arrayOf, fieldOf } from '../lenient.ts';
import { readToolCall } from './tool-call.ts';
import { readUsageUpdate } from './usage.ts';

/** Kinds that are not reported to clients. */
const IGNORED = new Set([
  'compaction_summary_chunk',
  'config_option_update',
  'current_mode_update',
  'user_message_chunk',
]);

/**
 * Turns a `session/update` into an update. It is read leniently: agents send kinds, fields and values of their own, and
 * what cadre does not know is counted, not refused.
 */
export function readUpdate(
  raw: unknown,
  budget = new MessageBudget(),
): AgentUpdate | 'ignored' | 'unknown' {
  const kind = fieldOf(raw, 'sessionUpdate');
  switch (kind) {
    case 'agent_message_chunk':
    case 'agent_thought_chunk':
      return readChunk(raw, kind === 'agent_message_chunk' ? 'message' : 'reasoning');
    case 'tool_call':
    case 'tool_call_update':
      return readToolCall(raw, budget);
    case 'plan':
      return readPlan(raw);
    case 'usage_update':
      return readUsageUpdate(raw);
    case 'session_info_update':
      return readInfo(raw);
    case 'available_commands_update':
      return readCommands(raw);
    case 'notice':
      return readNotice(raw);
    case 'compaction_update':
      return readCompaction(raw);
    default:
      return IGNORED.has(String(kind)) ? 'ignored' : 'unknown';
  }
}

/** Whether an update is of the session rather than of a turn: it counts whenever it comes. */
export function isOfSession({ type }: AgentUpdate): boolean {
  return type === 'title' || type === 'commands' || type === 'notice';
}

const chunk = z.looseObject({
  messageId: z.string().nullish().catch(null),
  content: z.unknown(),
});
/** Some agents leave the type of a text out. */
const untyped = z.looseObject({ text: z.string() });

function readChunk(raw: unknown, type: 'message' | 'reasoning'): AgentUpdate | 'unknown' {
  const { content, messageId } = chunk.safeParse(raw).data ?? {};
  const shown = blockText(content);
  const text = shown ?? untyped.safeParse(content).data?.text;
  if (text === undefined) return 'unknown';
  const isApart = shown !== null && !isTextBlock(content);
  return {
    type,
    text: isApart ? `\n\n${text}\n\n` : text,
    ...(messageId ? { ref: messageId } : {}),
  };
}

const plan = z.looseObject({
  entries: arrayOf(
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

/** A title; null clears it, which leaves the session the title that it has. */
function readInfo(raw: unknown): AgentUpdate | 'ignored' {
  const title = fieldOf(raw, 'title');
  return typeof title === 'string' ? { type: 'title', title } : 'ignored';
}

const commands = z.looseObject({
  availableCommands: arrayOf(
    z.looseObject({
      name: z.string().min(1),
      description: z.string().catch(''),
      input: z.looseObject({ hint: z.string() }).nullish().catch(null),
    }),
  ),
});

function readCommands(raw: unknown): AgentUpdate | 'unknown' {
  const { data } = commands.safeParse(raw);
  if (!data) return 'unknown';
  return {
    type: 'commands',
    commands: data.availableCommands.map(({ name, description, input }) => ({
      name: name.replace(/^\//, ''),
      description,
      hint: input?.hint ?? null,
    })),
  };
}

const text = z.string().nullish().catch(null);
const notice = z.looseObject({ severity: text, title: z.string(), description: text });

/** The severities that have a code of their own. */
const SEVERITIES = new Set(['warning', 'error']);

/** Reads a notice for the user outside of the conversation. */
function readNotice(raw: unknown): AgentUpdate | 'unknown' {
  const { data } = notice.safeParse(raw);
  if (!data) return 'unknown';
  const { severity, title, description } = data;
  const code = SEVERITIES.has(severity ?? '') ? String(severity) : 'notice';
  return { type: 'notice', code, message: description ? `${title}: ${description}` : title };
}

const compaction = z.looseObject({
  compactionId: z.string(),
  status: z.string(),
  summary: arrayOf(z.unknown()).nullish().catch(null),
  error: text,
});

/** Reads the progress of a compaction of the agent's context. */
function readCompaction(raw: unknown): AgentUpdate | 'unknown' {
  const { data } = compaction.safeParse(raw);
  if (!data) return 'unknown';
  const summary = (data.summary ?? []).map((block) => blockText(block) ?? '').join('');
  const more = data.error || summary.trim();
  const what = states[data.status] ?? `context compaction: ${data.status}`;
  return { type: 'notice', code: 'compaction', message: more ? `${what}: ${more}` : what };
}

const states: Readonly<Record<string, string>> = {
  in_progress: 'compacting the context',
  completed: 'context compacted',
  failed: 'context compaction failed',
  cancelled: 'context compaction cancelled',
};
