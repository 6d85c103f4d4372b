import { z } from 'zod';
import { type RateLimit, refusedBy } from '../claude-limits.ts';
import {
  failed,
  limited,
  type ReportedLimit,
  type TurnOutcome,
  unknownLimit,
} from '../provider.ts';
import type { Message } from './connection.ts';
import { loginHint, type LoginSituation } from '../login-watch.ts';
import type { Usage } from '../../api/sessions.ts';
import { reported } from '../../core/lib/reported-numbers.ts';
import { maybe, maybeText } from '../lenient.ts';

const result = z.looseObject({
  subtype: z.string().catch(''),
  is_error: z.boolean().catch(false),
  result: maybeText,
  errors: z.array(z.string()).catch([]),
  stop_reason: maybeText,
  terminal_reason: maybeText,
  /** Why the API has refused the request, in a word, where claude's version says so. */
  api_error: maybeText,
  api_error_status: maybe(z.number()),
});
const LIMITS = new Set(['error_max_turns', 'error_max_budget_usd']);

/**
 * Returns the outcome of a turn. A failure of the API has the subtype `success`: only `is_error` shows it. `rateLimit`:
 * the limits that claude reported in the turn.
 */
export function outcomeOf(
  message: Message,
  login: LoginSituation,
  rateLimit: RateLimit | null = null,
): TurnOutcome {
  const { data } = result.safeParse(message);
  if (!data) return failed('provider_error', 'claude ended the turn without a result');
  if (data.terminal_reason?.startsWith('aborted')) return { status: 'interrupted', error: null };
  if (data.stop_reason === 'refusal') return failed('refused', 'claude refused to continue');
  if (LIMITS.has(data.subtype))
    return failed('limit_reached', `claude reached one of its own limits: ${data.subtype}`);
  if (data.subtype === 'success' && !data.is_error) return { status: 'completed', error: null };
  const reason = data.result ?? (data.errors.join('; ') || data.subtype);
  const limit = limitIn(data, rateLimit);
  if (limit) return limited('claude', reason, limit);
  if (isLogout(data, reason))
    return failed('auth_required', `claude failed: ${reason}: ${loginHint(login)}`);
  return failed('provider_error', `claude failed: ${reason}`);
}

const LOGOUT_WORDS =
  /not logged in|\/login\b|invalid api key|failed to authenticate|authentication_(error|failed)|oauth (token|session).*(expired|revoked|invalid)|API Error: 401\b/i;

/** Reports whether the API refused a request because nobody is logged in, or the login has ended. */
function isLogout(
  { api_error, api_error_status }: z.output<typeof result>,
  reason: string,
): boolean {
  return api_error_status === 401 || LOGOUT_WORDS.test(`${api_error ?? ''} ${reason}`);
}

/** The usage limit that a failed turn has reached, which newer versions name as such; null where it is another failure. */
function limitIn(
  { api_error, api_error_status }: z.output<typeof result>,
  rateLimit: RateLimit | null,
): ReportedLimit | null {
  const refused = refusedBy(rateLimit);
  if (api_error === 'usage_limit_reached') return refused ?? unknownLimit;
  return api_error_status === 429 ? refused : null;
}

/** The text in the result of a turn. The answer to a slash command is nowhere else. */
export function textOf(message: Message): string {
  return result.safeParse(message).data?.result ?? '';
}

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
  .record(z.string(), z.looseObject({ costUSD: reported.usd, contextWindow: reported.tokens }))
  .catch({});
const resultUsage = z.looseObject({
  usage: z.unknown().optional(),
  total_cost_usd: reported.usd,
  modelUsage: byModel,
  model_usage_since_last_result: byModel.optional(),
});

/**
 * The usage of a turn, empty where the turn was cut off, and the cost of the whole session, as far as it is known: claude
 * continues that sum after a resume. `costBefore`: the cost before the turn, for versions that report only the sum.
 */
export function readResultUsage(raw: unknown, costBefore: number | null) {
  const { data } = resultUsage.safeParse(raw);
  const usage: Partial<Usage> = {};
  const tokens = readTokens(data?.usage);
  if (tokens && usageOf(tokens).total_tokens !== 0) Object.assign(usage, usageOf(tokens));
  const { modelUsage = {}, model_usage_since_last_result: recent } = data ?? {};
  // The main model is the one with the largest context window: claude uses small models for side tasks.
  const windows = [recent, modelUsage].map((models) =>
    Object.values(models ?? {}).flatMap((one) => one.contextWindow ?? []),
  );
  const room = windows.find(({ length }) => length > 0);
  if (room) usage.context_window = Math.max(...room);
  const cost = data?.total_cost_usd ?? null;
  if (recent)
    usage.cost_usd = Object.values(recent).reduce((sum, one) => sum + (one.costUSD ?? 0), 0);
  else if (cost !== null && costBefore !== null) usage.cost_usd = Math.max(0, cost - costBefore);
  const isKnown = cost !== null && !Number.isNaN(cost);
  return { usage, costSoFar: isKnown ? cost : costBefore };
}
