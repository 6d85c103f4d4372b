import { z } from 'zod';
import type { Usage } from '../../api/sessions.ts';
import { reported } from '../../core/lib/reported-numbers.ts';

/** The tokens of model requests. `cached` were read from the cache, `written` were put there. */
export interface Tokens {
  input: number;
  written: number;
  cached: number;
  output: number;
}

export const noTokens: Tokens = { input: 0, written: 0, cached: 0, output: 0 };

const count = reported.tokens;
const report = z.looseObject({
  input_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
  output_tokens: count,
});

/** The tokens in a report of usage; a count that the report leaves out is as it was `before`. */
export function readTokens(raw: unknown, before: Tokens = noTokens): Tokens | null {
  const { data } = report.safeParse(raw);
  if (!data) return null;
  return {
    input: data.input_tokens ?? before.input,
    written: data.cache_creation_input_tokens ?? before.written,
    cached: data.cache_read_input_tokens ?? before.cached,
    output: data.output_tokens ?? before.output,
  };
}

export function addTokens(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    written: a.written + b.written,
    cached: a.cached + b.cached,
    output: a.output + b.output,
  };
}

export function usageOf({ input, written, cached, output }: Tokens): Partial<Usage> {
  return {
    input_tokens: input + written,
    cached_input_tokens: cached,
    output_tokens: output,
    total_tokens: input + written + cached + output,
  };
}

const byModel = z
  .record(
    z.string(),
    z.looseObject({
      costUSD: reported.usd,
      contextWindow: reported.tokens,
    }),
  )
  .catch({});
const result = z.looseObject({
  usage: z.unknown().optional(),
  total_cost_usd: reported.usd,
  modelUsage: byModel,
  model_usage_since_last_result: byModel.optional().catch(undefined),
});

/** The usage that claude reports at the end of a turn. */
export interface ResultUsage {
  /** The usage of the turn; empty where the turn was cut off. */
  usage: Partial<Usage>;
  /** The cost of the whole session, which claude goes on counting over a resume. */
  costSoFar: number | null;
}

/** `costBefore`: the cost of the session before the turn, for versions that report only the sum. */
export function readResultUsage(raw: unknown, costBefore: number | null): ResultUsage {
  const { data } = result.safeParse(raw);
  const usage: Partial<Usage> = {};
  const tokens = readTokens(data?.usage);
  if (tokens && usageOf(tokens).total_tokens !== 0) Object.assign(usage, usageOf(tokens));
  // The main model is the one with the largest context window: claude uses small models for side tasks.
  const windows = Object.values(data?.modelUsage ?? {}).flatMap((one) => one.contextWindow ?? []);
  const recent = Object.entries(data?.model_usage_since_last_result ?? {});
  const own = recent.flatMap(([, one]) => one.contextWindow ?? []);
  const room = own.length > 0 ? own : windows;
  if (room.length > 0) usage.context_window = Math.max(...room);
  const costSoFar = data?.total_cost_usd ?? null;
  if (data?.model_usage_since_last_result)
    usage.cost_usd = recent.reduce((sum, [, one]) => sum + (one.costUSD ?? 0), 0);
  else if (costSoFar !== null && costBefore !== null)
    usage.cost_usd = Math.max(0, costSoFar - costBefore);
  return { usage, costSoFar };
}
