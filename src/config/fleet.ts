import { AppError } from '../errors.ts';
import { configuredFile } from './paths.ts';
import type { Config } from './schema.ts';

/** How to reach the engine of a fleet, and as whom. */
export interface FleetAccess {
  /** The addresses of the NATS servers, `nats://HOST:PORT`; any of them will do. */
  urls: string[];
  /** The fleet's name. */
  fleet: string;
  /** The name of the node or person: the engine's permissions are for it. */
  name: string;
  /** A file with the seed of an nkey; null: none is needed. */
  credentials: string | null;
  tls: Config['fleet']['tls'];
}

/** What a server is as a member of a fleet. */
export interface FleetMembership extends FleetAccess {
  labels: string[];
  /** Whether its events are mirrored into the fleet's stream. */
  mirror: boolean;
}

/** What a person who asks a fleet is. */
export interface FleetVisit extends FleetAccess {
  scope: 'admin' | 'read';
}

/** The membership that a server is configured with; null: it is no member of a fleet. */
export function membershipOf(
  { fleet }: Pick<Config, 'fleet'>,
  env: NodeJS.ProcessEnv,
): FleetMembership | null {
  const { url, name, labels, mirror } = fleet;
  if (url === null || name === null) return null;
  const files = filesOf(fleet.credentials, fleet.tls, env);
  return { urls: urlsOf(url), fleet: fleet.fleet, name, ...files, labels, mirror };
}

/**
 * How a command asks a fleet. `given`: the addresses from the command line, which the configured ones are the default of.
 * Throws `usage` where no address is known.
 */
export function visitOf(
  given: string | undefined,
  config: Config['fleet'],
  user: string,
  env: NodeJS.ProcessEnv,
): FleetVisit {
  const url = given ?? config.url;
  if (url === null)
    throw new AppError(
      'usage',
      'no fleet is known: give its address with --fleet nats://HOST:PORT',
    );
  const { name, credentials, scope } = config.person;
  return {
    urls: urlsOf(url),
    fleet: config.fleet,
    name: name ?? user,
    ...filesOf(credentials, config.tls, env),
    scope,
  };
}

/** The files, each absolute: one that is not is beside the configuration, or with ~/ in the home directory. */
function filesOf(
  credentials: string | null,
  { ca, cert, key }: FleetAccess['tls'],
  env: NodeJS.ProcessEnv,
): Pick<FleetAccess, 'credentials' | 'tls'> {
  const at = (file: string | null) => (file === null ? null : configuredFile(file, env));
  return { credentials: at(credentials), tls: { ca: at(ca), cert: at(cert), key: at(key) } };
}

/** One address, several separated by commas, or a list. */
function urlsOf(url: string | readonly string[]): string[] {
  return [url].flat().flatMap((one) =>
    one
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  );
}
