import path from 'node:path';
import { agentEnvironment } from '../../children/environment.ts';
import { newSecret } from '../../lib/ids.ts';
import { makeDirectory } from '../../lib/make-directory.ts';
import { ProviderError } from '../provider.ts';
import type { ResolvedAgent } from './resolve.ts';

/**
 * The environment of an agent: the usual variables of `from`, those that it may have besides, its home, and those of the
 * configuration. No other agent gets any of the last three.
 */
export function environmentOf(
  { passEnv, home, homeVariables, env }: ResolvedAgent,
  from: NodeJS.ProcessEnv,
): Record<string, string> {
  const passed = passEnv.flatMap((name) => {
    const value = from[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const homes = Object.entries(homeVariables).map(
    ([name, below]) => [name, path.join(home ?? '', below)] as const,
  );
  return agentEnvironment(from, {
    ...lockedDoors(),
    ...Object.fromEntries(passed),
    ...(home === null ? {} : Object.fromEntries(homes)),
    ...env,
  });
}

/** Makes the home of an agent, which only its owner can enter. Throws {@link ProviderError}. */
export function makeHome({ name, home }: ResolvedAgent): void {
  if (home === null) return;
  try {
    makeDirectory(home);
  } catch (error) {
    throw new ProviderError(
      'provider_unavailable',
      `acp: ${home} cannot be the home of ${name} (${(error as Error).message}): set providers.acp.agents.${name}.home to a directory of the user who runs cadre`,
      { cause: error },
    );
  }
}

/**
 * opencode, asked to speak ACP, also opens an HTTP server that can run commands; without a password anyone on
 * the machine may use it.
 */
function lockedDoors(): Record<string, string> {
  return { OPENCODE_SERVER_PASSWORD: newSecret() };
}
