/** The variables that name the directory in which an agent keeps its configuration and state. */
const HOME_VARIABLES: ReadonlySet<string> = new Set(['CLAUDE_CONFIG_DIR', 'CODEX_HOME']);

/**
 * Returns an environment without empty variables that name the home of an agent. Codex ignores an empty one, but claude
 * would write into its working directory.
 */
export function withoutEmptyHomes<T>(env: Readonly<Record<string, T>>): Record<string, T> {
  const set = Object.entries(env).filter(
    ([name, value]) => value !== '' || !HOME_VARIABLES.has(name),
  );
  return Object.fromEntries(set);
}
