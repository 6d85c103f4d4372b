/**
 * The variables of the server's environment that an agent receives: enough to find its programs, its home and its
 * network, but no keys of cadre or of the user's other services. The configuration has to name every other variable.
 */
const PASSED = new Set([
  'HOME',
  'LANG',
  'LANGUAGE',
  'LOGNAME',
  'NODE_EXTRA_CA_CERTS',
  'PATH',
  'SHELL',
  'SSH_AUTH_SOCK',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
  'TERM',
  'TMPDIR',
  'TZ',
  'USER',
]);
const PASSED_PATTERN = /^(LC_\w+|XDG_\w+|https?_proxy|no_proxy|all_proxy)$/i;

/** Returns the environment of an agent: the passed variables of `from`, and those that the configuration adds. */
export function agentEnvironment(
  from: NodeJS.ProcessEnv,
  added: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    ...variablesThat((name) => PASSED.has(name) || PASSED_PATTERN.test(name), from),
    ...added,
  };
}

/** Returns an environment in which git has more settings, after those that the environment already has. */
export function withGitSettings(
  env: Readonly<Record<string, string>>,
  settings: Readonly<Record<string, string>>,
): Record<string, string> {
  const added = Object.entries(settings);
  if (added.length === 0) return { ...env };
  const first = Number(env.GIT_CONFIG_COUNT ?? 0) || 0;
  const variables = added.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${first + index}`, key],
    [`GIT_CONFIG_VALUE_${first + index}`, value],
  ]);
  const count = String(first + added.length);
  return { ...env, ...Object.fromEntries(variables), GIT_CONFIG_COUNT: count };
}

/** Returns the variables with these names that are set. */
export function pickVariables(
  names: readonly string[],
  from: NodeJS.ProcessEnv,
): Readonly<Record<string, string>> {
  return variablesThat((name) => names.includes(name), from);
}

function variablesThat(
  isWanted: (name: string) => boolean,
  from: NodeJS.ProcessEnv,
): Record<string, string> {
  const wanted = Object.entries(from).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && isWanted(entry[0]),
  );
  return Object.fromEntries(wanted);
}

/** Variables of cadre, and API keys of models, which no command of an agent needs. */
const REMOVED =
  /^(CADRE_.*|NODE_.*|npm_.*|OPENAI_.*|CODEX_.*|ANTHROPIC_.*|CLAUDE.*|GEMINI_.*|.*_API_KEY)$/;

/**
 * Returns the environment of a process, with the ids that tell it who it is. A process without an owner, started over
 * HTTP by a person or a program, gets the server's environment without keys and cadre's own variables. A process of a
 * session gets what the session's agent gets, plus the variables that the operator passes on by name, so that an agent
 * cannot read other variables through a process.
 */
export function processEnvironment(
  from: NodeJS.ProcessEnv,
  options: {
    processId: string;
    sessionId: string | null;
    /** The names of variables that no process gets. */
    remove: ReadonlySet<string>;
    /** Names of variables that processes of sessions get in addition to the variables of agents. */
    pass: readonly string[];
  },
): Record<string, string> {
  const { sessionId, remove, pass } = options;
  return {
    ...(sessionId === null ? cleanEnvironment(from, remove) : ownedEnvironment(from, pass, remove)),
    CADRE_PROCESS_ID: options.processId,
    ...(options.sessionId === null ? {} : { CADRE_SESSION_ID: options.sessionId }),
  };
}

/** Returns the variables of agents and those of `pass`, without `remove`. */
function ownedEnvironment(
  from: NodeJS.ProcessEnv,
  pass: readonly string[],
  remove: ReadonlySet<string>,
): Record<string, string> {
  const all = agentEnvironment(from, pickVariables(pass, from));
  return variablesThat((name) => !remove.has(name), all);
}

/** Returns the server's environment without keys, without cadre's own variables, and without `remove`. */
export function cleanEnvironment(
  from: NodeJS.ProcessEnv,
  remove: ReadonlySet<string>,
): Record<string, string> {
  return variablesThat((name) => !REMOVED.test(name) && !remove.has(name), from);
}
