import { z } from 'zod';

/** The most tokens that a report can name. No model serves as many; sums of thousands of reports stay exact. */
const MAX_TOKENS = 1e12;
/** The highest cost that a report can name, in US dollars. */
const MAX_USD = 1e6;

export const tokenCount = z.int().min(0).max(MAX_TOKENS);
export const costInUsd = z.number().min(0).max(MAX_USD);

/** A number that an agent reports: null if it is missing, NaN if it is out of range, so that no sum with it is known. */
export const reported = {
  tokens: tokenCount.nullish().catch(Number.NaN),
  usd: costInUsd.nullish().catch(Number.NaN),
};

/** Adds two numbers that are not negative. A sum that is no longer exact stays at the highest exact integer. */
export function saturatingSum(a: number, b: number): number {
  return Math.min(a + b, Number.MAX_SAFE_INTEGER);
}
