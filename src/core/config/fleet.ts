import { usageError } from '../../api/errors.ts';
import { readPem, readSeed } from '../lib/nats-files.ts';
import { urlsOf } from './fleet-section.ts';
import type { Config } from './schema.ts';

/** How to reach the NATS servers of a fleet, and as whom. */
export interface FleetAccess {
  /** The addresses of the NATS servers, `nats://HOST:PORT`; any of them will do. */
  urls: string[];
  fleet: string;
  /** The name of the node or person: NATS's permissions are for it. */
  name: string;
  /** A file with the seed of an nkey; null: none is needed. */
  credentials: string | null;
  tls: Config['fleet']['tls'];
}

/** A server as a member of a fleet. */
export interface FleetMembership extends FleetAccess {
  labels: string[];
  /** Whether its events are mirrored into the fleet's stream. */
  mirror: boolean;
}

/** The access of a user of a fleet. */
export interface FleetUserAccess extends FleetAccess {
  scope: 'admin' | 'read';
}

/** Returns the configured membership of a server; null if the server is not a member of a fleet. */
export function membershipOf({ fleet }: Pick<Config, 'fleet'>): FleetMembership | null {
  const { url, name, credentials, tls, labels, mirror } = fleet;
  if (url === null || name === null) return null;
  return { urls: urlsOf(url), fleet: fleet.fleet, name, credentials, tls, labels, mirror };
}

/**
 * How a command asks a fleet. `given`: the addresses from the command line, which the configured ones are the default of.
 * Throws `usage` where no address is known.
 */
export function fleetUserAccessOf(
  given: string | undefined,
  config: Config['fleet'],
  user: string,
): FleetUserAccess {
  const url = given ?? config.url;
  if (url === null)
    throw usageError(
      'no fleet is configured: set the address of the fleet with --fleet nats://HOST:PORT',
    );
  const { name, credentials, scope } = config.person;
  return {
    urls: urlsOf(url),
    fleet: config.fleet,
    name: name ?? user,
    credentials,
    tls: config.tls,
    scope,
  };
}

/** Returns the problems of the files of this server as a node, a sentence each; with `both` also of a person. */
export function fleetFileProblems(
  { fleet }: Pick<Config, 'fleet'>,
  who: 'node' | 'both',
): string[] {
  const { url, name, credentials, person, tls } = fleet;
  if (url === null || (who === 'node' && name === null)) return [];
  const seeds = {
    credentials,
    ...(who === 'both' && { 'person.credentials': person.credentials }),
  };
  const pems = { 'tls.ca': tls.ca, 'tls.cert': tls.cert, 'tls.key': tls.key };
  return [...unreadable(seeds, readSeed), ...unreadable(pems, readPem)];
}

function unreadable(
  files: Record<string, string | null>,
  read: (file: string) => unknown,
): string[] {
  return Object.entries(files).flatMap(([key, file]) => {
    if (file === null) return [];
    try {
      read(file);
      return [];
    } catch (error) {
      return `fleet.${key}: ${(error as Error).message}`;
    }
  });
}
