import path from 'node:path';
import { nkeys } from '@nats-io/transport-node';
import { makeDirectory } from '../core/lib/make-directory.ts';
import { createFile } from '../core/lib/replace-file.ts';
import { seedIn } from './connection.ts';

/** The name of the key that makes the fleet, with `cadre fleet init`. */
export const ADMIN = 'admin';

/** The names of the files with the keys, without their ending. */
export const keyNames = {
  admin: ADMIN,
  node: (name: string) => `node-${name}`,
  person: (name: string) => `person-${name}`,
};

/**
 * The public key of the nkey in a file of a directory, which is made where it is missing: a line with the seed, that only
 * its owner may read. Throws `invalid` for a file that cannot be used.
 */
export function publicKeyIn(directory: string, name: string): string {
  const file = path.join(directory, `${name}.nk`);
  makeDirectory(directory);
  const pair = nkeys.createUser();
  const seed = new TextDecoder().decode(pair.getSeed());
  const isNew = createFile(file, `${seed}\n`, { flush: true });
  return isNew ? pair.getPublicKey() : nkeys.fromSeed(seedIn(file)).getPublicKey();
}
