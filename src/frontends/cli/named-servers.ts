import type { Address } from '../../client/address.ts';
import { HttpClient } from '../../client/client.ts';
import { findRegistration } from '../../core/config/registration.ts';
import type { Config } from '../../core/config/schema.ts';
import { AppError, unreachableError, usageError } from '../../api/errors.ts';
import { commandOn } from './command-on.ts';
import {
  addressOf,
  configuredServer,
  directoryOf,
  type GlobalOptions,
  tokenFor,
} from './context.ts';

/**
 * The addresses of the servers that the options or the configuration name: of the server in `--on`, else of all. Throws
 * `usage` for a wrong name or address.
 */
export async function addressesFor(
  configured: Config['servers'],
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Promise<Address[]> {
  const named = serversNamed(configured, options, env);
  const repeated = named.find(({ name }, at) => named.findIndex((one) => one.name === name) < at);
  if (repeated)
    throw usageError(`server "${repeated.name}" was given twice: pass each --url only once`);
  const local = await localServer(options, env);
  const { CADRE_TOKEN: _, ...withoutToken } = env;
  const addresses = named.map(({ name, url, tokenFile, isConfigured }) => {
    const at = url ?? local.running?.url ?? '';
    try {
      if (at === '')
        throw unreachableError(
          `no server is running on ${local.directory}: start one with ${commandOn('serve --detach', options)}`,
        );
      // A token of the environment is only for servers of the command line: configured servers have their own.
      const own = isConfigured ? withoutToken : env;
      const remedy = isConfigured
        ? 'set token_file in [[servers]], or pass --token-file FILE'
        : undefined;
      const token = tokenFor(at, { tokenFile }, own, local.running, local.configured, remedy);
      return { name, url: at, client: new HttpClient({ url: at, token, name }) };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { name, url: at, client: new AppError(error.code, `${name}: ${error.message}`) };
    }
  });
  return options.on ? [onlyOne(addresses, options.on)] : addresses;
}

function onlyOne(addresses: readonly Address[], wanted: readonly string[]): Address {
  const [name = '', ...more] = wanted;
  if (more.length > 0) throw usageError('--on was given more than once: name only one server');
  const found = addresses.find((one) => one.name === name);
  if (found) return found;
  const names = addresses.map((one) => one.name).join(', ');
  const there =
    names === ''
      ? 'add servers with --url, or with [[servers]] in the configuration'
      : `the servers are ${names}`;
  throw usageError(`server "${name}" not found: ${there}`);
}

interface Named {
  name: string;
  /** null: the server on this machine. */
  url: string | null;
  tokenFile: readonly string[] | undefined;
  isConfigured: boolean;
}

/** The servers of the flags, else of the environment, else of the configuration. */
function serversNamed(
  configured: Config['servers'],
  { url: urls = [], tokenFile: files = [], dataDir }: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Named[] {
  const addresses = urls.length > 0 || !env.CADRE_URL ? urls : [env.CADRE_URL];
  if (files.length > 1 && files.length !== addresses.length)
    throw usageError(
      '--token-file does not match --url: pass --token-file once for all servers, or once for each --url',
    );
  if (addresses.length === 0)
    return (dataDir === undefined ? configured : []).map(({ name, url, token_file }) => ({
      name,
      url,
      tokenFile: files.length > 0 ? files : filesOf(token_file),
      isConfigured: true,
    }));
  return addresses.map((url, at) => {
    const origin = addressOf(url);
    const known = configured.find((one) => one.url !== null && addressOf(one.url) === origin);
    const file = files.length > 1 ? files[at] : files[0];
    return {
      name: known?.name ?? new URL(url).host,
      url,
      tokenFile: file === undefined ? filesOf(known?.token_file ?? null) : [file],
      isConfigured: known !== undefined,
    };
  });
}

function filesOf(file: string | null): string[] | undefined {
  return file === null ? undefined : [file];
}

async function localServer(options: GlobalOptions, env: NodeJS.ProcessEnv) {
  const configured = await configuredServer(options, env);
  const directory = directoryOf(options, configured, env);
  const registered = findRegistration(directory);
  return { configured, directory, running: registered?.runs ? registered.server : null };
}
