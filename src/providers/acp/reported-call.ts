/** The newest value of each field of a tool call, over all messages about the call. */
export type ReportedCall = Readonly<Record<string, unknown>>;

/** A tool call after one more message about it: a field that the message leaves out stays as it was. */
export function mergeCalls(known: ReportedCall, news: ReportedCall): ReportedCall {
  const named = Object.entries(news).filter(([, value]) => value !== undefined && value !== null);
  return { ...known, ...Object.fromEntries(named) };
}
