import path from 'node:path';
import type { Address } from '../../client/address.ts';
import type { Client } from '../../client/client.ts';
import { cacheDirectory } from '../../core/config/paths.ts';
import { AppError, usageError } from '../../api/errors.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { askedServers, connectOne, type GlobalOptions } from './context.ts';

// Separate from context.ts and named-servers.ts, because shell completion loads these and needs no client of all servers.

/**
 * Connects to the servers of `askedServers`. Throws as `connectOne` and `addressesFor`, and the error of the only server.
 */
export async function connect(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
  clock: Clock,
): Promise<Client> {
  const asked = await askedServers(options, env);
  if (asked.kind === 'fleet') return (await import('./fleet.ts')).connectFleet(options, env, clock);
  if (asked.kind !== 'named') return connectOne(options, env);
  const { addressesFor } = await import('./named-servers.ts');
  const addresses = await addressesFor(asked.servers, options, env);
  const [first, ...others] = addresses;
  if (!first) throw usageError('no server is configured: pass --url');
  if (others.length > 0) return clientOfAll(addresses, first.url, env, clock);
  if (first.client instanceof AppError) throw first.client;
  return first.client;
}

/** A client that sends each request to the server that it concerns. */
async function clientOfAll(
  addresses: readonly Address[],
  firstUrl: string,
  env: NodeJS.ProcessEnv,
  clock: Clock,
): Promise<Client> {
  const { RoutedClient } = await import('../../client/routed.ts');
  const { Addresses } = await import('../../client/addresses.ts');
  const { ServerListCache } = await import('../../client/server-list-cache.ts');
  const lastKnown = new ServerListCache(path.join(cacheDirectory(env), 'servers'), () =>
    clock.now(),
  );
  return new RoutedClient(new Addresses(addresses, clock, lastKnown), firstUrl);
}
