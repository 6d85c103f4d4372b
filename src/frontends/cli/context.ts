import fs from 'node:fs';
import path from 'node:path';
import { HttpClient } from '../../client/client.ts';
import { defaultConfigFile, defaultDataDirectory } from '../../core/config/paths.ts';
import { findRegistration, type Registered } from '../../core/config/registration.ts';
import type { Config } from '../../core/config/schema.ts';
import { readToken } from '../../core/config/token.ts';
import { AppError, unreachableError, usageError } from '../../api/errors.ts';
import { commandOn } from './command-on.ts';
import type { OutputOptions } from './output-options.ts';
import { configureColors } from '../terminal/palette.ts';

export interface GlobalOptions extends OutputOptions {
  url?: readonly string[] | undefined;
  tokenFile?: readonly string[] | undefined;
  /** Name of the server to ask, if there are several. */
  on?: readonly string[] | undefined;
  dataDir?: string | undefined;
  /** The configuration file. Only some commands take this option. */
  config?: string;
  json?: boolean;
  /** The expression of jq that filters the JSON; it implies `json`. */
  jq?: string;
  /** The addresses of the fleet's NATS, separated by commas; true or empty: as configured. */
  fleet?: string | true;
}

export type AskedServers =
  /** The server that runs on this machine, found by its data directory. */
  | { kind: 'local' }
  | { kind: 'address'; url: string }
  | {
      kind: 'named';
      servers: Config['servers'];
      /** Whether the options name only one of the servers. */
      isOne: boolean;
    }
  | { kind: 'fleet' };

/** Decides which servers the options, the environment and the configuration name. */
export async function askedServers(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Promise<AskedServers> {
  if (options.fleet !== undefined || env.CADRE_FLEET) return { kind: 'fleet' };
  const { url: urls = env.CADRE_URL ? [env.CADRE_URL] : [], on, dataDir } = options;
  const servers = (await clientConfiguration(options, env))?.servers ?? [];
  const isNamed =
    urls.length === 0
      ? servers.length > 0 && dataDir === undefined
      : servers.some(
          ({ url }) => url !== null && urls.some((one) => addressOf(one) === addressOf(url)),
        );
  if (isNamed || urls.length > 1 || on !== undefined)
    return {
      kind: 'named',
      servers,
      isOne: on !== undefined || (urls.length || servers.length) === 1,
    };
  const [url] = urls;
  return url === undefined ? { kind: 'local' } : { kind: 'address', url };
}

/**
 * Connects to the server that the options name, else to `CADRE_URL` with `CADRE_TOKEN`, else to the registered server
 * of this machine. The token of that server is sent only to its registered address, because the environment with
 * another address may come from a file in a foreign directory. Throws `unreachable` if no server is known, `usage` and
 * `unauthorized` as `tokenFor`.
 */
export async function connectOne(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Promise<HttpClient> {
  const configured = await configuredServer(options, env);
  const directory = directoryOf(options, configured, env);
  const named = options.url?.at(-1) ?? env.CADRE_URL;
  if (named) {
    const found = findRegistration(directory);
    const running = found?.runs ? found.server : null;
    return new HttpClient({
      url: named,
      token: tokenFor(named, options, env, running, configured),
    });
  }
  const locate = () => {
    const running = runningServer(directory, options);
    return { url: running.url, token: tokenFor(running.url, options, env, running, configured) };
  };
  return new HttpClient({ ...locate(), locate });
}

/** The server that runs on a data directory. Throws `unreachable` if none does. */
function runningServer(directory: string, options: GlobalOptions): Registered {
  const found = findRegistration(directory);
  if (found?.runs) return found.server;
  const stale = found
    ? `, and the last server (pid ${found.server.pid}) did not shut down cleanly`
    : '';
  throw unreachableError(
    `no server is running on ${directory}${stale}: start one with ${commandOn('serve --detach', options)}, or pass --url`,
  );
}

/** The data directory of the server on this machine that the options and the configuration name, as an absolute path. */
export async function serverDirectory(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  return directoryOf(options, await configuredServer(options, env), env);
}

export function directoryOf(
  options: GlobalOptions,
  configured: { directory: string } | null,
  env: NodeJS.ProcessEnv,
): string {
  return path.resolve(options.dataDir ?? configured?.directory ?? defaultDataDirectory(env));
}

/** The data directory and the token in the configuration file; null where there is no file. */
export async function configuredServer(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Promise<{ directory: string; token: string | null } | null> {
  const config = await clientConfiguration(options, env);
  if (config === null) return null;
  const { dataDirectory } = await import('../../core/config/load.ts');
  return { directory: dataDirectory(config, env), token: config.auth.token };
}

/**
 * The configuration, with the environment, which a command line reads once; null where no file is there and the environment
 * has none of its variables. Throws `invalid` where it has problems.
 */
export function configuration(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Promise<Config | null> {
  return readOnce('whole', options, env);
}

/** The same with only the sections that every client needs, whatever problems the other sections have. */
export function clientConfiguration(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Promise<Config | null> {
  return readOnce('client', options, env);
}

type Part = 'whole' | 'client';

function readOnce(
  part: Part,
  { config: file }: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Promise<Config | null> {
  const ofEnv = read.get(env) ?? new Map<string, Promise<Config | null>>();
  const key = `${part} ${file}`;
  const config = ofEnv.get(key) ?? readConfiguration(part, file, env);
  read.set(env, ofEnv.set(key, config));
  return config;
}

/** The configurations that were read, by environment, part and file. */
const read = new WeakMap<NodeJS.ProcessEnv, Map<string, Promise<Config | null>>>();

/** The variables that every client reads. */
const FOR_CLIENTS = /^CADRE_(?:SERVERS$|SCREEN_|CLIENT_HISTORY$)/;

async function readConfiguration(
  part: Part,
  file: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<Config | null> {
  // The schema is loaded only where a file exists, so that other clients start sooner.
  const isSet = Object.keys(env).some((name) => FOR_CLIENTS.test(name));
  if (file === undefined && !isSet && !fs.existsSync(defaultConfigFile(env))) return null;
  const { loadClientConfig, loadConfig } = await import('../../core/config/load.ts');
  const config = (part === 'client' ? loadClientConfig : loadConfig)({ config: file }, env);
  configureColors(env, config.screen);
  return config;
}

/** The token for an address. Throws `usage` for an invalid address or a token file that does not exist, `unauthorized` where no token may be sent to the address. */
export function tokenFor(
  url: string,
  { tokenFile: files }: Pick<GlobalOptions, 'tokenFile'>,
  env: NodeJS.ProcessEnv,
  running: Pick<Registered, 'url' | 'token_file'> | null,
  configured: { token: string | null } | null,
  remedy = 'set CADRE_TOKEN, or pass --token-file FILE',
): string {
  const address = addressOf(url);
  const tokenFile = tokenFileOf({ tokenFile: files });
  if (tokenFile !== null) return readToken(tokenFile);
  if (env.CADRE_TOKEN) return env.CADRE_TOKEN;
  const isRegistered = running !== null && address === addressOf(running.url);
  if (isRegistered) {
    const { token_file: file } = running;
    if (file && fs.existsSync(file)) return readToken(file);
    if (configured?.token) return configured.token;
  }
  const why =
    running === null || isRegistered
      ? ''
      : ` (the token of ${running.url} is sent only to that address)`;
  throw new AppError(
    'unauthorized',
    `no token for the server ${url}${why}, so no request was sent: ${remedy}`,
  );
}

/** The token file that the options name; null for none. Throws `usage` if it does not exist. */
export function tokenFileOf({ tokenFile: files }: Pick<GlobalOptions, 'tokenFile'>): string | null {
  const file = files?.at(-1);
  if (!file) return null;
  if (fs.existsSync(file)) return file;
  throw usageError(`token file ${file} not found: check --token-file`);
}

/** Scheme, host and port. Two names of one machine are two addresses, because a name may resolve differently later. */
export function addressOf(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw usageError(`invalid server address "${url}": expected http://HOST:PORT`);
  return new URL(url).origin;
}
