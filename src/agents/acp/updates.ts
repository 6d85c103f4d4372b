import { z } from 'zod';
import type { AgentUpdate } from '../provider.ts';
import { MessageBudget } from '../budget.ts';
import { blockText, isTextBlock } from './blocks.ts';
import { arrayOf, fieldOf, maybe, maybeText } from '../lenient.ts';
import { readToolCall } from './tool-call.ts';
import { readUsageUpdate } from './usage.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';

type Read = AgentUpdate | 'ignored' | 'unknown';

/**
 * Turns a `session/update` into an update. It is read leniently: agents send kinds, fields and values of their own, and
 * what cadre does not know is counted, not refused.
 */
export function readUpdate(raw: unknown, budget = new MessageBudget()): Read {
  const kind = fieldOf(raw, 'sessionUpdate');
  switch (kind) {
    case 'agent_message_chunk':
    case 'agent_thought_chunk':
      return readChunk(raw, kind === 'agent_message_chunk' ? 'message' : 'reasoning');
    case 'tool_call':
    case 'tool_call_update':
      return readToolCall(raw, budget);
    case 'usage_update':
      return readUsageUpdate(raw);
    case 'session_info_update':
      return readInfo(raw);
    case 'compaction_summary_chunk':
    case 'config_option_update':
    case 'current_mode_update':
    case 'user_message_chunk':
      return 'ignored';
    default:
      return updates.get(kind)?.safeParse(raw).data ?? 'unknown';
  }
}

/** Whether an update is of the session rather than of a turn: it counts whenever it comes. */
export function isOfSession({ type }: AgentUpdate): boolean {
  return type === 'title' || type === 'commands' || type === 'notice';
}

const chunk = z.looseObject({
  messageId: maybeText,
  content: z.unknown(),
});
/** Some agents leave the type of a text out. */
const untyped = z.looseObject({ text: z.string() });

/** Reads a chunk of a text, also of a prompt that an agent replays. */
export function readChunk(raw: unknown, type: 'message' | 'reasoning'): AgentUpdate | 'unknown' {
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

/** A title; null clears it, which leaves the session the title that it has. */
function readInfo(raw: unknown): AgentUpdate | 'ignored' {
  const title = fieldOf(raw, 'title');
  return typeof title === 'string' ? { type: 'title', title } : 'ignored';
}

const plan = z
  .looseObject({
    entries: arrayOf(
      z.object({
        content: z.string(),
        status: z.string().catch('pending'),
        priority: maybeText,
      }),
    ),
  })
  .transform(({ entries }): AgentUpdate => ({ type: 'plan', entries }));

const command = z
  .looseObject({
    name: z.string().min(1),
    description: z.string().catch(''),
    input: maybe(z.looseObject({ hint: z.string() })),
  })
  .transform(({ name, description, input }) => {
    return { name: name.replace(/^\//, ''), description, hint: input?.hint ?? null };
  });
const commands = z
  .looseObject({ availableCommands: arrayOf(command) })
  .transform(({ availableCommands }): AgentUpdate => {
    return { type: 'commands', commands: availableCommands };
  });

/** The severities that have a code of their own. */
const SEVERITIES: ReadonlySet<string> = new Set(['warning', 'error']);

/** A notice for the user outside of the conversation. */
const notice = z
  .looseObject({ severity: maybeText, title: z.string(), description: maybeText })
  .transform(({ severity, title, description }): AgentUpdate => {
    const code = severity !== null && SEVERITIES.has(severity) ? severity : 'notice';
    return { type: 'notice', code, message: description ? `${title}: ${description}` : title };
  });

/** The progress of a compaction of the agent's context. */
const compaction = z
  .looseObject({
    compactionId: z.string(),
    status: z.string(),
    summary: arrayOf(z.unknown()).catch([]),
    error: maybeText,
  })
  .transform(({ status, summary, error }): AgentUpdate => {
    const more =
      error ||
      summary
        .map((block) => blockText(block) ?? '')
        .join('')
        .trim();
    const what = ownEntry(states, status) ?? `context compaction: ${status}`;
    return { type: 'notice', code: 'compaction', message: more ? `${what}: ${more}` : what };
  });

const states: Readonly<Record<string, string>> = {
  in_progress: 'compacting the context',
  completed: 'context compacted',
  failed: 'context compaction failed',
  cancelled: 'context compaction cancelled',
};

const updates = new Map<unknown, z.ZodType<AgentUpdate>>([
  ['plan', plan],
  ['available_commands_update', commands],
  ['notice', notice],
  ['compaction_update', compaction],
]);
