import { isAbsolute, join } from 'node:path';

/** Where sessions are kept: `CADRE_DEMO_STATE`, else a directory of our own under the XDG state directory. */
export function defaultStateDir(env: NodeJS.ProcessEnv, home: string): string {
  if (env['CADRE_DEMO_STATE']) return env['CADRE_DEMO_STATE'];
  const state = env['XDG_STATE_HOME'];
  // The XDG specification: a relative path is invalid and to be ignored.
  return join(state && isAbsolute(state) ? state : join(home, '.local/state'), 'cadre-demo-agent');
}
