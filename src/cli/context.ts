import fs from 'node:fs';
import { Client } from '../client/client.ts';
import { defaultDataDirectory } from '../config/load.ts';
import { findRegistration } from '../config/registration.ts';
import { readToken } from '../config/token.ts';
import { AppError } from '../errors.ts';

/** The options every client command takes. */
export interface GlobalOptions {
  url?: string;
  tokenFile?: string;
  dataDir?: string;
  json?: boolean;
}

/**
 * A client of the server that was named, or of the one that runs on this machine.
 * `--url` and `--token-file`, then `CADRE_URL` and `CADRE_TOKEN`, then the registration.
 */
export function connect(options: GlobalOptions, env: NodeJS.ProcessEnv): Client {
  const directory = options.dataDir ?? defaultDataDirectory(env);
  const registered = findRegistration(directory);
  const url = options.url ?? env.CADRE_URL ?? registered?.url;
  if (!url) {
    throw new AppError(
      'unreachable',
      `no server is running on ${directory}: start one with cadre serve, or name one with --url`,
    );
  }
  return new Client({ url, token: tokenFor(options, env, registered?.token_file ?? null) });
}

function tokenFor(
  { tokenFile }: GlobalOptions,
  env: NodeJS.ProcessEnv,
  registered: string | null,
): string {
  if (tokenFile) {
    if (!fs.existsSync(tokenFile))
      throw new AppError('usage', `there is no token file ${tokenFile}`);
    return readToken(tokenFile);
  }
  if (env.CADRE_TOKEN) return env.CADRE_TOKEN;
  if (registered && fs.existsSync(registered)) return readToken(registered);
  throw new AppError(
    'unauthorized',
    'no token is known for this server: set CADRE_TOKEN, or name a file with --token-file',
  );
}
