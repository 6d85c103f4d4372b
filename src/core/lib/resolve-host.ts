import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { OneAtATime } from './one-at-a-time.ts';

/** Node looks names up on the threads that read files: slow servers of names must not take all of them. */
const lookups = new OneAtATime();

/** Returns all addresses of a host. Names of the same user are looked up one after the other. */
export function resolveHost(
  user: 'hooks' | 'sandboxes',
  hostname: string,
  options: LookupOptions = {},
): Promise<LookupAddress[]> {
  return lookups.run(user, () => lookup(hostname, { ...options, all: true }));
}

/** Returns a function for the option `lookup` of a connection, which gets its addresses from `find`. */
export function lookupFrom(
  find: (hostname: string, options: LookupOptions) => Promise<LookupAddress[]>,
): LookupFunction {
  const found = callbackify(find);
  return (hostname, options, callback) => {
    found(hostname, options, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error) callback(error, '', 0);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first?.address ?? '', first?.family);
    });
  };
}
