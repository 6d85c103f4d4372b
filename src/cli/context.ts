import fs from 'node:fs';
import { Client } from '../client/client.ts';
import { defaultConfigFile, defaultDataDirectory } from '../config/paths.ts';
import { findRegistration } from '../config/registration.ts';
import { readToken } from '../config/token.ts';
import { AppError } from '../errors.ts';

/** The options every client command takes. */
export interface GlobalOptions {
  url?: string;
  tokenFile?: string;
  dataDir?: string;
  /** The configuration; of the commands that take it. */
  config?: string;
  json?: boolean;
}

/**
 * A client of the server that was named, or of the one that runs on this machine.
 * `--url` and `--token-file`, then `CADRE_URL` and `CADRE_TOKEN`, then the registration.
 */
export async function connect(options: GlobalOptions, env: NodeJS.ProcessEnv): Promise<Client> {
  const configured = await configuredServer(options, env);
  const directory = options.dataDir ?? configured?.directory ?? defaultDataDirectory(env);
  const registered = findRegistration(directory);
  const running = registered?.runs ? registered.server : null;
  const url = options.url ?? env.CADRE_URL ?? running?.url;
  if (!url) {
    const stale = registered
      ? `, and the last one (pid ${registered.server.pid}) did not stop in order`
      : '';
    throw new AppError(
      'unreachable',
      `no server is running on ${directory}${stale}: start one with cadre serve, or name one with --url`,
    );
  }
  const known = { tokenFile: running?.token_file ?? null, token: configured?.token ?? null };
  return new Client({ url, token: tokenFor(options, env, known) });
}

/** What the configuration file says of the server of this machine; null where there is no file. */
async function configuredServer(
  { config: file }: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Promise<{ directory: string; token: string | null } | null> {
  // Read only where there is one: a client that needs none is not to wait for it.
  if (file === undefined && !fs.existsSync(defaultConfigFile(env))) return null;
  const { loadConfig, dataDirectory } = await import('../config/load.ts');
  const config = loadConfig({ config: file }, env);
  return { directory: dataDirectory(config, env), token: config.auth.token };
}

function tokenFor(
  { tokenFile }: GlobalOptions,
  env: NodeJS.ProcessEnv,
  known: { tokenFile: string | null; token: string | null },
): string {
  if (tokenFile) {
    if (!fs.existsSync(tokenFile))
      throw new AppError('usage', `there is no token file ${tokenFile}`);
    return readToken(tokenFile);
  }
  if (env.CADRE_TOKEN) return env.CADRE_TOKEN;
  if (known.tokenFile && fs.existsSync(known.tokenFile)) return readToken(known.tokenFile);
  if (known.token) return known.token;
  throw new AppError(
    'unauthorized',
    'no token is known for this server: set CADRE_TOKEN, or name a file with --token-file',
  );
}
