import type { Defaults } from '../../../client/defaults.ts';
import { configuration } from '../context.ts';
import type { CommandContext } from '../world.ts';

/** The defaults of the file and the environment. Throws `invalid` where the configuration has problems. */
export async function defaultsOf({
  world,
  global,
}: Pick<CommandContext, 'world' | 'global'>): Promise<Defaults> {
  const { env } = world;
  const isSet = Object.keys(env).some((name) => name.startsWith('CADRE_DEFAULTS_'));
  const config =
    (await configuration(global, env)) ??
    (isSet ? (await import('../../../core/config/load.ts')).loadConfig({}, env) : null);
  const { provider, ...settings } = config?.defaults ?? none;
  const isByVariable = env.CADRE_DEFAULTS_PROVIDER !== undefined;
  return {
    ...settings,
    provider: {
      byVariable: isByVariable ? provider : null,
      byFile: isByVariable ? null : provider,
    },
  };
}

const none = { provider: null, agent: null, model: null, effort: null, permission_mode: null };
