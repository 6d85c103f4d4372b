import type { ProviderId } from '../../api/provider-kinds.ts';
import type { Config } from '../../config/schema.ts';
import { configuration } from '../context.ts';
import type { CommandContext } from '../world.ts';

/** What a new session gets where no flag says otherwise: `[defaults]` of the configuration. */
export interface Defaults extends Omit<Config['defaults'], 'provider'> {
  /** The provider that a variable names, that the file names, and whose model and effort these are. */
  provider: { byVariable: ProviderId | null; byFile: ProviderId | null };
}

/** The defaults of the file and the environment. Throws `invalid` where the configuration has problems. */
export async function defaultsOf({ world, global }: CommandContext): Promise<Defaults> {
  const { env } = world;
  const isSet = Object.keys(env).some((name) => name.startsWith('CADRE_DEFAULTS_'));
  const config =
    (await configuration(global, env)) ??
    (isSet ? (await import('../../config/load.ts')).loadConfig({}, env) : null);
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

const none = { provider: null, model: null, effort: null, permission_mode: null };
