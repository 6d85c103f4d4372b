import { randomBytes } from 'node:crypto';
import { v4, v7 } from 'uuid';

type IdPrefix =
  | 'sess'
  | 'turn'
  | 'item'
  | 'apr'
  | 'tok'
  | 'proc'
  | 'wt'
  | 'team'
  | 'msg'
  | 'dlv'
  | 'op'
  | 'run'
  | 'evt'
  | 'req'
  | 'epoch';

/** Makes identifiers. It is handed in, so that a test can control them. */
export interface Ids {
  /** `<prefix>_<UUIDv7 without dashes>`: sorts by the time of creation, cannot be guessed. */
  next(prefix: IdPrefix): string;
}

/** Identifiers from the system clock and the system's random source. */
export const systemIds: Ids = {
  next: (prefix) => `${prefix}_${v7().replaceAll('-', '')}`,
};

/** A UUID (version 4), where the protocol of another program requires one. */
export function newUuid(): string {
  return v4();
}

/** A number from 0 up to 1, by chance. */
export function random(): number {
  return randomBytes(4).readUInt32LE() / 2 ** 32;
}

/** A secret of 32 random bytes, as 43 characters of base64url. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
