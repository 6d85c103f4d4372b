import type { HttpClient } from '../../../client/client.ts';
import { AppError } from '../../../api/errors.ts';
import { configuration, connectOne, type GlobalOptions, namedServers } from '../context.ts';
import type { Get, Offer } from './records.ts';

/** What the line says of the servers. */
export type Asked = Record<'url' | 'tokenFile' | 'dataDir' | 'on', string | undefined>;

/** The clients of the servers that a command line asks. */
export async function clientsOf(
  { url, tokenFile, dataDir, on }: Asked,
  env: NodeJS.ProcessEnv,
): Promise<HttpClient[]> {
  const options: GlobalOptions = {
    url: listOf(url),
    tokenFile: listOf(tokenFile),
    dataDir,
    on: listOf(on),
  };
  if (!(await namedServers(options, env))) return [await connectOne(options, env)];
  const { addressesFor } = await import('../named-servers.ts');
  const addresses = (await addressesFor(options, env)) ?? [];
  return addresses.flatMap(({ client }) => (client instanceof AppError ? [] : [client]));
}

/** Reads a path: lists of records from all servers, and anything else from the first that has it. */
export function getFrom(clients: readonly HttpClient[], signal: AbortSignal): Get {
  return async (path) => {
    const answers = await Promise.allSettled(clients.map((client) => client.get(path, signal)));
    const found = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    if (found.length === 0)
      throw new AppError('not_found', `no server answered the request for ${path}`);
    return LISTS.test(path) ? found.flat() : found[0];
  };
}

const LISTS = /^\/v1\/(sessions|processes|approvals|worktrees|teams)\?/;

/** The names of the servers in the configuration. */
export async function serverNames(env: NodeJS.ProcessEnv): Promise<Offer[]> {
  const servers = (await configuration({}, env))?.servers ?? [];
  return servers.map(({ name, url }) => ({ word: name, about: url ?? 'this machine' }));
}

function listOf(value: string | undefined): string[] | undefined {
  return value === undefined ? undefined : [value];
}
