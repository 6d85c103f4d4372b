import os from 'node:os';
import type { FleetVisit } from '../config/fleet.ts';
import { configuration, type GlobalOptions } from './context.ts';

/**
 * How the options and the configuration ask a fleet, and as whom. Throws `usage` where they name none, and `invalid` for a
 * configuration with problems.
 */
export async function fleetVisit(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Promise<FleetVisit> {
  const [{ visitOf }, { loadConfig }] = await Promise.all([
    import('../config/fleet.ts'),
    import('../config/load.ts'),
  ]);
  const config = (await configuration(options, env)) ?? loadConfig({}, env);
  const given = options.fleet === true || !options.fleet ? env.CADRE_FLEET : options.fleet;
  return visitOf(given || undefined, config.fleet, userName());
}

/** The name of who types, as it can be part of a subject. */
function userName(): string {
  return (
    os
      .userInfo()
      .username.replaceAll(/[^A-Za-z0-9_-]/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '') || 'person'
  );
}
