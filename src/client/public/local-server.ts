import { defaultDataDirectory } from '../../core/config/paths.ts';
import { findRegistration } from '../../core/config/registration.ts';
import { readToken } from '../../core/config/token.ts';
import { CadreError } from './error.ts';
import type { ServerAddress } from './face.ts';

/**
 * The server that the environment names by CADRE_URL and CADRE_TOKEN, else the one that runs on this machine with the
 * default data directory or that of CADRE_DATA_ROOT_DIR. The token of that server is given for its own address alone.
 * Throws a CadreError: `unreachable` where no server is known, `unauthorized` where no token is.
 */
export function localServer(env: Record<string, string | undefined> = process.env): ServerAddress {
  const directory = defaultDataDirectory(env);
  const registered = findRegistration(directory);
  const running = registered?.runs ? registered.server : null;
  const url = env.CADRE_URL ?? running?.url;
  if (url === undefined)
    throw new CadreError(
      'unreachable',
      `no server is running on data directory "${directory}": start one with cadre serve --detach, or set CADRE_URL and CADRE_TOKEN`,
    );
  const isOwn = running !== null && new URL(url).origin === new URL(running.url).origin;
  const token = env.CADRE_TOKEN ?? (isOwn ? tokenIn(running.token_file) : null);
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
