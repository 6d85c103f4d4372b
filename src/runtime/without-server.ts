import type { ProviderRecord } from '../api/providers.ts';
import type { Supervisor } from '../children/supervisor.ts';
import type { Config } from '../config/schema.ts';
import { systemClock } from '../lib/clock.ts';
import { ProviderRegistry } from '../providers/registry.ts';
import { configuredProviders } from './build/providers.ts';

/** The version of this machine's git, or what is wrong with it. */
export { findGit } from '../worktrees/git.ts';

/** The providers as a server with this configuration would show them; nothing is started. */
export function describeProviders(config: Config): ProviderRecord[] {
  const supervisor = { start: () => Promise.reject(new Error('no server')) };
  const needs = {
    supervisor: supervisor as unknown as Supervisor,
    clock: systemClock,
    toolsFor: () => {
      throw new Error('no server');
    },
  };
  return new ProviderRegistry(configuredProviders(config, needs)).list();
}
