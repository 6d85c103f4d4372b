import { isAbsolute, join } from 'node:path';

/** The directory for sessions: `CADRE_DEMO_STATE`, or else `cadre-demo-agent` under the XDG state directory. */
export function defaultStateDir(env: NodeJS.ProcessEnv, home: string): string {
  if (env['CADRE_DEMO_STATE']) return env['CADRE_DEMO_STATE'];
  const state = env['XDG_STATE_HOME'];
  // The XDG specification says that a relative path is invalid and must be ignored.
  return join(state && isAbsolute(state) ? state : join(home, '.local/state'), 'cadre-demo-agent');
}
