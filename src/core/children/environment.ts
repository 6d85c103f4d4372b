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
  const passed = Object.entries(from).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (PASSED.has(entry[0]) || PASSED_PATTERN.test(entry[0])),
  );
  return { ...Object.fromEntries(passed), ...added };
}

/** Returns the variables with these names that are set. */
export function pickVariables(
  names: readonly string[],
  from: NodeJS.ProcessEnv,
): Readonly<Record<string, string>> {
  const set = names.flatMap((name) => {
    const value = from[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(set);
}
