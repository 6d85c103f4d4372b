import { type Defaults, noDefaults } from '../../../client/defaults.ts';
import { PromptHistory } from '../../../core/lib/prompt-history.ts';
import { clientConfiguration, configuration, serverDirectory } from '../context.ts';
import type { CommandContext } from '../command-io.ts';

/** The defaults of the file and the environment. Throws `invalid` where the configuration has problems. */
export async function defaultsOf({
  io,
  global,
}: Pick<CommandContext, 'io' | 'global'>): Promise<Defaults> {
  const { env } = io;
  const isSet = Object.keys(env).some((name) => /^CADRE_(DEFAULTS|CLIENT)_/.test(name));
  const config =
    (await configuration(global, env)) ??
    (isSet ? (await import('../../../core/config/load.ts')).loadConfig({}, env) : null);
  if (config === null) return noDefaults;
  const { provider, ...settings } = config.defaults;
  const isByVariable = env.CADRE_DEFAULTS_PROVIDER !== undefined;
  return {
    ...settings,
    person_mode: config.client.permission_mode,
    provider: {
      byVariable: isByVariable ? provider : null,
      byFile: isByVariable ? null : provider,
    },
  };
}

/** The prompts that were sent on this data directory; null where `client.history` is off. */
export async function promptHistory({
  io: { env },
  global,
}: Pick<CommandContext, 'io' | 'global'>): Promise<PromptHistory | null> {
  const config = await clientConfiguration(global, env);
  if (config?.client.history === false) return null;
  return new PromptHistory(await serverDirectory(global, env));
}
