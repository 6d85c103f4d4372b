import type { AgentRequest } from '../provider.ts';
import { filledFields } from '../../core/lib/filled-fields.ts';
import { parsedJson } from '../../core/lib/parsed-json.ts';
import { inputDetails } from '../details.ts';
import { isBlank } from '../lenient.ts';

/** The fields of `_meta` with the model's own values. */
export const INPUT_FIELD = /^((raw|tool|mcp)_?)*(input|arg(ument)?s|param(eter)?s)$/i;

/** An agent's record is a few levels deep; what is deeper is not its own statement. */
export const MAX_META_DEPTH = 8;

/** The fields of `_meta` with the output of a terminal, which says nothing of what a call would do. */
const OUTPUT_FIELDS = new Set([
  'terminal_info',
  'terminal_output',
  'terminal_output_delta',
  'terminal_exit',
]);

/** Returns the arguments of a call in `_meta`, each below the names of the records around it; null if there are none. */
export function argumentsInMeta(meta: unknown, depth = 0): Record<string, unknown> | null {
  if (typeof meta !== 'object' || meta === null || depth > MAX_META_DEPTH) return null;
  const found = Object.entries(meta).flatMap(([field, value]: [string, unknown]) => {
    const args = INPUT_FIELD.test(field) ? value : argumentsInMeta(value, depth + 1);
    return isBlank(args) ? [] : [[field, args]];
  });
  return found.length > 0 ? (Object.fromEntries(found) as Record<string, unknown>) : null;
}

/**
 * Returns `_meta` as details: its arguments alone if the protocol's fields state the others, else all of it but the
 * output of terminals.
 */
export function metaDetails(meta: unknown, isStated: boolean): AgentRequest['details'] {
  if (isStated) return inputDetails({ _meta: argumentsInMeta(meta) });
  const fields = Object.entries(meta !== null && typeof meta === 'object' ? meta : {});
  const others = fields.filter(([field]) => !OUTPUT_FIELDS.has(field));
  return inputDetails({ _meta: others.length > 0 ? Object.fromEntries(others) : null });
}

/** The newest value of each field of a tool call, over all messages about the call. */
export type ReportedCall = Readonly<Record<string, unknown>>;

/** A tool call after one more message about it: a field that the message leaves out stays as it was. */
export function mergeCalls(known: ReportedCall, news: ReportedCall): ReportedCall {
  return { ...known, ...Object.fromEntries(filledFields(news)) };
}

/** The maximum number of messages about one call that are kept for its approval. */
const MAX_MESSAGES = 16;
/** The fields that say nothing of what a call would do. */
const NOT_SHOWN = ['sessionUpdate', 'toolCallId', 'status', 'rawOutput', 'kind', '_meta'];

/** The field with the number of messages that were not kept. The approval shows it as it shows every unknown field. */
export const NOT_KEPT = 'messages not shown';

/**
 * Returns the messages about a call after one more, without the messages that it repeats or continues: agents stream
 * the arguments of a call, and each message has all arguments so far. If there are too many messages, the first ones
 * and the newest are kept.
 */
export function withMessage(
  messages: readonly ReportedCall[],
  news: ReportedCall,
): readonly ReportedCall[] {
  const message = Object.fromEntries(filledFields(news, NOT_SHOWN));
  // The rest of `_meta` is output and names.
  const inMeta = argumentsInMeta(news._meta);
  if (inMeta !== null) message._meta = inMeta;
  if (Object.keys(message).length === 0) return messages;
  const before = Number(messages.at(-1)?.[NOT_KEPT] ?? 0);
  const others = messages
    .map(({ [NOT_KEPT]: _count, ...one }) => one)
    .filter((one) => !isContinued(one, message));
  const kept = others.slice(0, MAX_MESSAGES - 1);
  const left = before + others.length - kept.length;
  return [...kept, left > 0 ? { ...message, [NOT_KEPT]: left } : message];
}

/** The depth to which values are compared: deeper ones count as different. */
const MAX_DEPTH = 64;

/** Whether a later value equals an earlier one or starts with it. */
export function isContinued(before: unknown, after: unknown, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false;
  if (typeof before === 'string')
    return (
      typeof after === 'string' &&
      (after.startsWith(before) || isContinuedJson(before, after, depth))
    );
  if (typeof before !== 'object' || before === null) return Object.is(before, after);
  if (typeof after !== 'object' || after === null) return false;
  if (Array.isArray(before) !== Array.isArray(after)) return false;
  const later = after as Readonly<Record<string, unknown>>;
  return Object.entries(before).every(
    ([name, value]) => Object.hasOwn(later, name) && isContinued(value, later[name], depth + 1),
  );
}

/** Whether both are objects in JSON, the later with the beginning: some agents close what they have got so far. */
function isContinuedJson(before: string, after: string, depth: number): boolean {
  const [was, is] = [objectIn(before), objectIn(after)];
  return was !== undefined && is !== undefined && isContinued(was, is, depth + 1);
}

/** The object of a text in JSON; undefined for any other value. */
export function objectIn(text: unknown): object | undefined {
  const json = typeof text === 'string' ? text.trim() : '';
  const isObject = json.startsWith('{') && json.endsWith('}');
  return isObject ? (parsedJson(json) as object | undefined) : undefined;
}
