import path from 'node:path';
import { agentEnvironment, pickVariables } from '../../core/children/environment.ts';
import { newSecret } from '../../core/lib/ids.ts';
import { makeDirectory } from '../../core/lib/make-directory.ts';
import { ProviderError } from '../provider.ts';
import { catalogue } from './catalogue.ts';
import type { ResolvedAgent } from './resolve.ts';

/**
 * The environment of an agent: the usual variables of `from`, those that it may have besides, its home, and those of the
 * configuration. No other agent gets any of the last three.
 */
export function environmentOf(
  { passEnv, home, homeVariables, env }: ResolvedAgent,
  from: NodeJS.ProcessEnv,
): Record<string, string> {
  const homes = Object.entries(homeVariables).map(
    ([name, below]) => [name, path.join(home ?? '', below)] as const,
  );
  return agentEnvironment(from, {
    ...lockedDoors(),
    ...pickVariables(passEnv, from),
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
      `acp: cannot create the home directory "${home}" of agent ${name} (${(error as Error).message}): set providers.acp.agents.${name}.home to a directory that is writable for the user who runs cadre`,
      { cause: error },
    );
  }
}

/**
 * The secrets that close the doors of agents. Every agent gets them, because it may be a known one under another name.
 */
function lockedDoors(): Record<string, string> {
  const names = catalogue.flatMap(({ secrets }) => secrets);
  return Object.fromEntries(names.map((name) => [name, newSecret()]));
}
