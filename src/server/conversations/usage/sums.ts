import { mostTokensFirst, plus } from '../../../core/lib/usage-sums.ts';
import type { KeyedSums } from '../sessions/turn-usage.ts';

/** Sums of usage by key, added up over the parts of a range of time. */
export class SumsByKey {
  readonly #sums = new Map<string, KeyedSums>();

  add(sums: KeyedSums): void {
    const name = JSON.stringify([sums.key, sums.second]);
    const before = this.#sums.get(name);
    this.#sums.set(name, before ? { ...before, ...plus(before, sums) } : sums);
  }

  /** All of them, the one with the most tokens first. */
  get largestFirst(): KeyedSums[] {
    return [...this.#sums.values()].toSorted(mostTokensFirst);
  }
}
