import { argumentsInMeta } from './call-meta.ts';

/** The newest value of each field of a tool call, over all messages about the call. */
export type ReportedCall = Readonly<Record<string, unknown>>;

/** A tool call after one more message about it: a field that the message leaves out stays as it was. */
export function mergeCalls(known: ReportedCall, news: ReportedCall): ReportedCall {
  const named = Object.entries(news).filter(([, value]) => value !== undefined && value !== null);
  return { ...known, ...Object.fromEntries(named) };
}

/** The maximum number of messages about one call that are kept for its approval. */
const MAX_MESSAGES = 16;
/** The fields that say nothing of what a call would do. */
const NOT_SHOWN = new Set(['sessionUpdate', 'toolCallId', 'status', 'rawOutput', 'kind', '_meta']);

/** The field with the number of messages that were not kept. The approval shows it as it shows every unknown field. */
export const NOT_KEPT = 'messages not shown';

/**
 * Returns the messages about a call after one more, without those that it repeats or continues: agents stream the
 * arguments of a call, each time with all of them so far. Of too many messages the first ones and the newest are kept.
 */
export function withMessage(
  messages: readonly ReportedCall[],
  news: ReportedCall,
): readonly ReportedCall[] {
  const said = Object.fromEntries(
    Object.entries(news).filter(
      ([field, value]) => !NOT_SHOWN.has(field) && value !== undefined && value !== null,
    ),
  );
  // The rest of `_meta` is output and names.
  const inMeta = argumentsInMeta(news._meta);
  if (inMeta !== null) said._meta = inMeta;
  if (Object.keys(said).length === 0) return messages;
  const before = Number(messages.at(-1)?.[NOT_KEPT] ?? 0);
  const others = messages
    .map(({ [NOT_KEPT]: _count, ...one }) => one)
    .filter((one) => !isContinued(one, said));
  const kept = others.slice(0, MAX_MESSAGES - 1);
  const left = before + others.length - kept.length;
  return [...kept, left > 0 ? { ...said, [NOT_KEPT]: left } : said];
}

/** The depth to which values are compared: deeper ones count as different. */
const MAX_DEPTH = 64;

/** Whether a later value repeats an earlier one, or has it as its beginning. */
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
  if (![before, after].every((one) => /^\s*\{/.test(one) && /\}\s*$/.test(one))) return false;
  try {
    return isContinued(JSON.parse(before), JSON.parse(after), depth + 1);
  } catch {
    return false;
  }
}
