import { defaultDataDirectory } from '../../core/config/paths.ts';
import { findRegistration } from '../../core/config/registration.ts';
import { readToken } from '../../core/config/token.ts';
import { CadreError } from './error.ts';
import type { ServerAddress } from './types.ts';

/**
 * The server in the variables CADRE_URL and CADRE_TOKEN. Without them, the server that runs on this machine with the
 * data directory in CADRE_DATA_ROOT_DIR, or the default one. The token of that server is returned only for its own
 * address. Throws a CadreError: `unreachable` if no server is known, `unauthorized` if no token is known, and `invalid` for
 * a CADRE_URL that is not an address.
 */
export function localServer(env: Record<string, string | undefined> = process.env): ServerAddress {
  const directory = defaultDataDirectory(env);
  const registered = findRegistration(directory);
  const running = registered?.runs ? registered.server : null;
  // An empty variable counts as unset.
  const url = env.CADRE_URL || running?.url;
  if (url === undefined)
    throw new CadreError(
      'unreachable',
      `no server is running on data directory "${directory}": start one with cadre serve --detach, or set CADRE_URL and CADRE_TOKEN`,
    );
  if (!URL.canParse(url))
    throw new CadreError('invalid', `invalid CADRE_URL "${url}": expected http://HOST:PORT`);
  const isOwn = running !== null && new URL(url).origin === new URL(running.url).origin;
  const token = env.CADRE_TOKEN || (isOwn ? tokenIn(running.token_file) : null);
  if (token === null)
    throw new CadreError('unauthorized', `no token for the server ${url}: set CADRE_TOKEN`);
  return { url, token };
}

function tokenIn(file: string | null): string | null {
  if (file === null) return null;
  try {
    return readToken(file);
  } catch (cause) {
    throw new CadreError('unauthorized', `cannot read the token: ${(cause as Error).message}`, {
      cause,
    });
  }
}
