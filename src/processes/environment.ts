/** What is ours, or a key for somebody's model: no command that an agent runs needs it. */
const REMOVED =
  /^(CADRE_.*|NODE_.*|npm_.*|OPENAI_.*|CODEX_.*|ANTHROPIC_.*|CLAUDE.*|GEMINI_.*|.*_API_KEY)$/;

/** The environment of a process: the server's, without keys and what is ours, and with who it is. */
export function processEnvironment(
  from: NodeJS.ProcessEnv,
  given: { processId: string; sessionId: string | null; remove: ReadonlySet<string> },
): Record<string, string> {
  return {
    ...cleanEnvironment(from, given.remove),
    CADRE_PROCESS_ID: given.processId,
    ...(given.sessionId === null ? {} : { CADRE_SESSION_ID: given.sessionId }),
  };
}

/** The server's environment without keys, what is ours, and what is in `remove`. */
export function cleanEnvironment(
  from: NodeJS.ProcessEnv,
  remove: ReadonlySet<string>,
): Record<string, string> {
  const kept = Object.entries(from).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !REMOVED.test(entry[0]) && !remove.has(entry[0]),
  );
  return Object.fromEntries(kept);
}
