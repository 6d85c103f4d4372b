import { seededRandom } from '../../support/random.ts';

/** Repeatable random choices: the same seed gives the same choices. */
export interface Random {
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** An independent one, for a task whose turn to draw depends on timing. */
  fork(): Random;
}

export function seeded(seed: number): Random {
  const next = seededRandom(seed);
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    between,
    chance: (probability) => next() < probability,
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new Error('nothing to pick from');
      return list[between(0, list.length - 1)] as T;
    },
    fork: () => seeded(next() * 2 ** 32),
  };
}
