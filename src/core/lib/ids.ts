import { randomBytes, randomFillSync, randomUUID } from 'node:crypto';

type IdPrefix =
  | 'sess'
  | 'turn'
  | 'past'
  | 'item'
  | 'apr'
  | 'rule'
  | 'tok'
  | 'proc'
  | 'wt'
  | 'team'
  | 'msg'
  | 'dlv'
  | 'que'
  | 'link'
  | 'bud'
  | 'cmt'
  | 'goal'
  | 'watch'
  | 'race'
  | 'op'
  | 'run'
  | 'evt'
  | 'req'
  | 'epoch';

/** Creates identifiers, as a dependency that tests can replace. */
export interface Ids {
  /** `<prefix>_<UUIDv7 without dashes>`: sorts by the time of creation, cannot be guessed. */
  next(prefix: IdPrefix): string;
}

/** Identifiers from the system clock and the system's random source. */
export const systemIds: Ids = {
  next: (prefix) => `${prefix}_${nextUuid7()}`,
};

/** A UUID (version 4), for ids of other programs and for marks in the environment of processes. */
export function newUuid(): string {
  return randomUUID();
}

/** Returns a random number from 0 up to 1. */
export function random(): number {
  return randomBytes(4).readUInt32LE() / 2 ** 32;
}

/** A secret of 32 random bytes, as 43 characters of base64url. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** The counter of a UUID has 26 bits; it begins in the lower half of its range. */
const COUNTER_END = 2 ** 26;
let lastMs = 0;
let counter = 0;

/**
 * Returns a UUID of version 7 (RFC 9562) without dashes: 48 bits of time, a counter that begins anew at random in each
 * millisecond, and 48 random bits. Each one sorts after those before, also when the clock is set back.
 */
function nextUuid7(): string {
  const now = Date.now();
  if (now > lastMs || counter + 1 === COUNTER_END) {
    lastMs = Math.max(now, lastMs + 1);
    counter = Number.parseInt(randomHex(4), 16) % (COUNTER_END / 2);
  } else counter++;
  const time = lastMs.toString(16).padStart(12, '0');
  const high = (0x7000 | (counter >>> 14)).toString(16);
  const low = (0x8000 | (counter & 0x3fff)).toString(16);
  return time + high + low + randomHex(6);
}

/** Random bytes for many ids: to fetch them costs a system call, which takes longer than the rest of an id. */
const pool = Buffer.allocUnsafeSlow(4096);
let used = pool.length;

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}
