import type { Client } from '../../client/client.ts';
import { RoutedClient } from '../../client/routed.ts';
import { usable } from '../../client/addresses.ts';
import { type FleetUserAccess, fleetUserAccessOf } from '../../core/config/fleet.ts';
import { loadConfig } from '../../core/config/load.ts';
import { usageError } from '../../api/errors.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { accountName } from '../../core/lib/home-directory.ts';
import { newUuid, random } from '../../core/lib/ids.ts';
import { configuration, type GlobalOptions } from './context.ts';

/**
 * A client of the nodes of a fleet: of all of them, of the one that `--on` names, or of those with the labels that it
 * names. Throws `unreachable` for a node that is not alive, with its name, and as `readFleetUserAccess` and `connectTo`.
 */
export async function connectFleet(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
  clock: Clock,
): Promise<Client> {
  const { names: wanted, labels } = wantedOn(options.on ?? []);
  const access = await readFleetUserAccess(options, env);
  const { connectTo, FleetServers, namesOf } = await import('../../fleet/index.ts');
  const connection = await connectTo(access);
  try {
    const names = namesOf(access.fleet);
    const asking = {
      connection,
      names,
      user: access.name,
      scope: access.scope,
      clock,
      newKey: newUuid,
    };
    const servers = new FleetServers(asking, { labels, random });
    const [name] = wanted;
    if (name === undefined) return new RoutedClient(servers, `fleet ${access.fleet}`);
    const { client } = usable(await servers.named(name));
    return Object.assign(client, { close: () => servers.close() });
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** The names and the labels of `--on`. Throws `usage` for what cannot be wanted together. */
function wantedOn(on: readonly string[]): { names: string[]; labels: string[] } {
  const labels = on.flatMap((one) =>
    one.startsWith('label=') ? [one.slice('label='.length)] : [],
  );
  const names = on.filter((one) => !one.startsWith('label='));
  if (names.length > 1 || (names.length === 1 && labels.length > 0))
    throw usageError(
      'invalid --on: expected the name of one node, or labels such as --on label=gpu',
    );
  if (labels.includes(''))
    throw usageError('invalid --on "label=": expected a label such as --on label=gpu');
  return { names, labels };
}

/**
 * How the options and the configuration ask a fleet, and as whom. Throws `usage` where they name none, and `invalid` for a
 * configuration with problems.
 */
export async function readFleetUserAccess(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Promise<FleetUserAccess> {
  const config = (await configuration(options, env)) ?? loadConfig({}, env);
  const requested = options.fleet === true || !options.fleet ? env.CADRE_FLEET : options.fleet;
  return fleetUserAccessOf(requested || undefined, config.fleet, userName());
}

/** The name of who types, as it can be part of a subject. */
function userName(): string {
  const name = (accountName() ?? '').replaceAll(/[^A-Za-z0-9_-]/g, '-').slice(0, 63);
  return /^[A-Za-z0-9]/.test(name) ? name : 'person';
}
