import { saturatingSum } from './reported-numbers.ts';

/** Usage of several turns. Sums include only turns that report a number; null if no turn does. */
export type UsageSums = {
  turns: number;
  input_tokens: number | null;
  output_tokens: number | null;
  cached_input_tokens: number | null;
  total_tokens: number | null;
  cost_usd: number | null;
  /** How many of the turns report no tokens. */
  turns_without_tokens: number;
  /** How many of the turns report no cost. */
  turns_without_cost: number;
};

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

/** Adds two sums. A value that one sum lacks is the value of the other. */
export function plus(a: UsageSums, b: UsageSums): UsageSums {
  const either = (x: number | null, y: number | null) =>
    x === null ? y : saturatingSum(x, y ?? 0);
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

/** Orders sums: the one with the most tokens first, then the one with the most turns. */
export function mostTokensFirst(a: UsageSums, b: UsageSums): number {
  return (b.total_tokens ?? 0) - (a.total_tokens ?? 0) || b.turns - a.turns;
}
