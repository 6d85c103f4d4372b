/**
 * The part of the server's environment that an agent gets: enough to find its programs, its home and its network, and
 * none of our keys or the user's for other services. Every other variable is named in the configuration.
 */
const PASSED = new Set([
  'HOME',
  'LANG',
  'LANGUAGE',
  'LOGNAME',
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

/** The environment of an agent: the passed variables of `from`, and what the configuration adds. */
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
