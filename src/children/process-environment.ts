import { agentEnvironment } from './environment.ts';

/** Variables of ours, and keys of models: no command that an agent runs needs them. */
const REMOVED =
  /^(CADRE_.*|NODE_.*|npm_.*|OPENAI_.*|CODEX_.*|ANTHROPIC_.*|CLAUDE.*|GEMINI_.*|.*_API_KEY)$/;

/**
 * The environment of a process, with who it is. One that nobody owns, started over HTTP by a person or a program, gets
 * the server's without keys and what is ours. One that a session owns gets what its agent would get and what the
 * operator passes on by name: it shall not read from a process what it is not given itself.
 */
export function processEnvironment(
  from: NodeJS.ProcessEnv,
  given: {
    processId: string;
    sessionId: string | null;
    /** Names of variables that no process gets. */
    remove: ReadonlySet<string>;
    /** Names of variables that processes of sessions get beside those that agents do. */
    pass: readonly string[];
  },
): Record<string, string> {
  const { sessionId, remove, pass } = given;
  return {
    ...(sessionId === null ? cleanEnvironment(from, remove) : ownedEnvironment(from, pass, remove)),
    CADRE_PROCESS_ID: given.processId,
    ...(given.sessionId === null ? {} : { CADRE_SESSION_ID: given.sessionId }),
  };
}

/** The environment of a session's process: the variables of agents, and the set ones of `pass`; none of `remove`. */
export function ownedEnvironment(
  from: NodeJS.ProcessEnv,
  pass: readonly string[],
  remove: ReadonlySet<string>,
): Record<string, string> {
  const named = pass.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]]));
  const all = agentEnvironment(from, Object.fromEntries(named) as Record<string, string>);
  return Object.fromEntries(Object.entries(all).filter(([name]) => !remove.has(name)));
}

/** The server's environment without keys, without variables of ours, and without `remove`. */
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
