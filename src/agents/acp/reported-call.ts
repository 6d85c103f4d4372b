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

/**
 * Returns the messages about a call after one more, without those that it repeats or continues: agents stream the
 * arguments of a call, each time with all of them so far. Of too many messages the first ones are kept.
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
  if (Object.keys(said).length === 0) return messages;
  const others = messages.filter((one) => !isContinued(one, said));
  return others.length < MAX_MESSAGES ? [...others, said] : others;
}

/** The depth to which values are compared: deeper ones count as different. */
const MAX_DEPTH = 64;

/** Whether a later value repeats an earlier one, or has it as its beginning. */
export function isContinued(before: unknown, after: unknown, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false;
  if (typeof before === 'string') return typeof after === 'string' && after.startsWith(before);
  if (typeof before !== 'object' || before === null) return Object.is(before, after);
  if (typeof after !== 'object' || after === null) return false;
  if (Array.isArray(before) !== Array.isArray(after)) return false;
  const later = after as Readonly<Record<string, unknown>>;
  return Object.entries(before).every(
    ([name, value]) => Object.hasOwn(later, name) && isContinued(value, later[name], depth + 1),
  );
}
