import type { KeyedSums, UsageSums } from '../sessions/turn-usage.ts';

export const noSums: UsageSums = {
  turns: 0,
  input_tokens: null,
  output_tokens: null,
  cached_input_tokens: null,
  total_tokens: null,
  cost_usd: null,
  turns_without_tokens: 0,
  turns_without_cost: 0,
};

/** Sums of usage by key, from those of parts of a range of time. */
export class SumsByKey {
  readonly #sums = new Map<string, KeyedSums>();

  add(sums: KeyedSums): void {
    const name = JSON.stringify([sums.key, sums.second]);
    const before = this.#sums.get(name);
    this.#sums.set(name, before ? { ...before, ...plus(before, sums) } : sums);
  }

  /** All of them, the one with the most tokens first. */
  get largestFirst(): KeyedSums[] {
    return [...this.#sums.values()].toSorted(
      (a, b) => (b.total_tokens ?? 0) - (a.total_tokens ?? 0) || b.turns - a.turns,
    );
  }
}

/** Adds two sums. What one of them does not know is what the other says. */
export function plus(a: UsageSums, b: UsageSums): UsageSums {
  const either = (x: number | null, y: number | null) => (x === null ? y : x + (y ?? 0));
  return {
    turns: a.turns + b.turns,
    input_tokens: either(a.input_tokens, b.input_tokens),
    output_tokens: either(a.output_tokens, b.output_tokens),
    cached_input_tokens: either(a.cached_input_tokens, b.cached_input_tokens),
    total_tokens: either(a.total_tokens, b.total_tokens),
    cost_usd: either(a.cost_usd, b.cost_usd),
    turns_without_tokens: a.turns_without_tokens + b.turns_without_tokens,
    turns_without_cost: a.turns_without_cost + b.turns_without_cost,
  };
}
