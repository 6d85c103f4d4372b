import path from 'node:path';
import type { Address } from '../../client/address.ts';
import type { Client } from '../../client/client.ts';
import { cacheDirectory } from '../../core/config/paths.ts';
import { AppError } from '../../api/errors.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { connectOne, type GlobalOptions, namedServers } from './context.ts';

/**
 * A client of the server that the options name; of all servers where these, or `[[servers]]` of the configuration, name
 * several, and `--on` none of them; of the nodes of a fleet with `--fleet`. Throws as `connectOne` and `addressesFor`, and what is wrong with the only server.
 */
export async function connect(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
  clock: Clock,
): Promise<Client> {
  if (options.fleet !== undefined || env.CADRE_FLEET)
    return (await import('./fleet.ts')).connectFleet(options, env, clock);
  if (!(await namedServers(options, env))) return connectOne(options, env);
  const { addressesFor } = await import('./named-servers.ts');
  const addresses = (await addressesFor(options, env)) ?? [];
  const [first, ...others] = addresses;
  if (!first) throw new AppError('usage', 'no server is configured: pass --url');
  if (others.length > 0) return clientOfAll(addresses, first.url, env, clock);
  if (first.client instanceof AppError) throw first.client;
  return first.client;
}

async function clientOfAll(
  addresses: readonly Address[],
  firstUrl: string,
  env: NodeJS.ProcessEnv,
  clock: Clock,
): Promise<Client> {
  const { RoutedClient } = await import('../../client/routed.ts');
  const { Addresses } = await import('../../client/addresses.ts');
  const { LastKnown } = await import('../../client/last-known.ts');
  const lastKnown = new LastKnown(path.join(cacheDirectory(env), 'servers'), () => clock.now());
  return new RoutedClient(new Addresses(addresses, clock, lastKnown), firstUrl);
}
