/** Returns a number from 0 up to 1; the sequence depends only on the seed. */
export type Random = () => number;

/** The mulberry32 generator: 32 bits of state are plenty for choosing moments. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a whole number from 0 up to `end` (exclusive). */
export function below(end: number, random: Random): number {
  return Math.floor(random() * end);
}
