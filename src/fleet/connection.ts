import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  errors,
  type NatsConnection,
  nkeyAuthenticator,
  nkeys,
} from '@nats-io/transport-node';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { AppError, invalidError, unreachableError } from '../api/errors.ts';
import { errorMessage } from '../core/lib/error-message.ts';
import { problemOfAddress, readPem, readSeed } from '../core/lib/nats-files.ts';
import { version } from '../core/lib/self.ts';
import { isError } from './nats-api.ts';
import { namesOf, OLDEST_ENGINE } from './names.ts';

/** How to reach the NATS servers of a fleet, and as whom. */
export interface Access {
  /** The addresses of the NATS servers, `nats://HOST:PORT`; any of them will do. */
  urls: readonly string[];
  fleet: string;
  /** The name of the node or person. */
  name: string;
  /** A file with the seed of an nkey; null: none is needed. */
  credentials: string | null;
  tls: { ca: string | null; cert: string | null; key: string | null };
}

/**
 * How long one attempt to connect to one server may take, in milliseconds: briefly at first, so that a server that hangs
 * costs little where another one answers, then for longer, for a slow network.
 */
const CONNECT_MS = [1500, 5000] as const;
/** How long to wait between two attempts, in milliseconds; the library adds up to 100 by chance. */
const RECONNECT_EVERY_MS = 200;
/**
 * The interval of pings in milliseconds, and the number of pings without a response: a hanging server is noticed after 3
 * s, so that another server is tried before the heartbeat of a node expires.
 */
const PING_EVERY_MS = 1000;
const MAX_PINGS_OPEN = 2;

/**
 * Connects to NATS. From then on the connection reconnects by itself, to any of the addresses, until it is closed.
 * Its answers come to an inbox of its own, which nobody else may listen to. Throws `unreachable` where no address
 * answers, `unauthorized` where NATS refuses the credentials, and `invalid` for files that cannot be used and for
 * a NATS server that is too old.
 */
export async function connectTo(access: Access): Promise<NatsConnection> {
  const [brief, patient] = CONNECT_MS;
  const options = optionsOf(access);
  const connection = await connect({ ...options, timeout: brief })
    .catch((error: unknown) => {
      const failure = explained(error, access);
      if (failure.code !== 'unreachable' || !isError(error, errors.TimeoutError)) throw failure;
      return connect({ ...options, timeout: patient });
    })
    .catch((error: unknown) => {
      throw explained(error, access);
    });
  const found = connection.info?.version ?? 'unknown';
  if (isOlder(found, OLDEST_ENGINE)) {
    await connection.close();
    throw invalidError(
      `nats-server ${found} is too old for a fleet: install ${OLDEST_ENGINE} or newer`,
    );
  }
  return connection;
}

function optionsOf(access: Access): ConnectionOptions {
  const { urls, name, fleet, credentials, tls } = access;
  const problem = urls.map(problemOfAddress).find((one) => one !== null);
  if (problem !== undefined) throw invalidError(problem);
  // Also where NATS itself would not insist: somebody between could have removed its word.
  const isEncrypted =
    Object.values(tls).some((file) => file !== null) || urls.some((url) => url.startsWith('tls:'));
  return {
    servers: [...urls],
    name: `cadre ${version} ${name}`,
    inboxPrefix: namesOf(fleet).inbox(name),
    pingInterval: PING_EVERY_MS,
    maxPingOut: MAX_PINGS_OPEN,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_EVERY_MS,
    reconnectJitterTLS: RECONNECT_EVERY_MS,
    // The stack of every request, for the case that it fails, costs more than the rest of it.
    noAsyncTraces: true,
    // After a correction of the permissions, no node has to be started again.
    ignoreAuthErrorAbort: true,
    // The addresses that the servers announce may not be reachable from here: only the configured addresses count.
    ignoreClusterUpdates: true,
    ...(credentials === null ? {} : { authenticator: authenticatorOf(credentials) }),
    ...(isEncrypted ? { tls: tlsOf(tls, urls) } : {}),
  };
}

function tlsOf({ ca, cert, key }: Access['tls'], urls: readonly string[]) {
  const hosts = urls.map((url) => new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'));
  return {
    // The library names no host where the address is a number. Any host of the fleet's NATS servers is as good as another.
    checkServerIdentity(_host: string, certificate: PeerCertificate): Error | undefined {
      const errors = hosts.map((host) => checkServerIdentity(host, certificate));
      return errors.includes(undefined) ? undefined : errors[0];
    },
    ...(ca === null ? {} : { ca: usable(() => readPem(ca)) }),
    ...(cert === null ? {} : { cert: usable(() => readPem(cert)) }),
    ...(key === null ? {} : { key: usable(() => readPem(key)) }),
  };
}

/** The seed of an nkey in a file. Throws `invalid` for a file that others may read, and for one without a seed. */
export function seedIn(file: string): Uint8Array {
  return usable(() => readSeed(file));
}

/** Throws `invalid` where a file cannot be used. */
function usable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalidError((error as Error).message, { cause: error });
  }
}

/** Throws `invalid` for a seed with a slip of the pen: it has a checksum. */
function authenticatorOf(credentials: string): Authenticator {
  const seed = seedIn(credentials);
  try {
    nkeys.fromSeed(seed);
  } catch (error) {
    throw invalidError(
      `invalid seed in key file "${credentials}" (${(error as Error).message}): copy the key file again`,
      { cause: error },
    );
  }
  return nkeyAuthenticator(seed);
}

function explained(error: unknown, { urls, name, credentials }: Access): AppError {
  if (error instanceof AppError) return error;
  const where = urls.join(', ');
  const why = errorMessage(error);
  if (error instanceof errors.UserAuthenticationExpiredError || /authorization/i.test(why))
    return new AppError(
      'unauthorized',
      credentials === null
        ? `NATS at ${where} requires authentication: set fleet.credentials or fleet.person.credentials to the key file (nkey) of "${name}"`
        : `NATS at ${where} rejected the key in "${credentials}": add the public key of "${name}" to the NATS configuration`,
      { cause: error },
    );
  return unreachableError(`no NATS server answers at ${where}: ${why}`, {
    cause: error,
  });
}

/** Whether a version is older than another, by its numbers. */
export function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split(/[.-]/).slice(0, 3).map(Number));
  for (let at = 0; at < 3; at++) {
    const difference = (a?.[at] ?? 0) - (b?.[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
