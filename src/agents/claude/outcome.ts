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
import { loginHint, type LoginSituation } from '../own-home.ts';

const result = z.looseObject({
  subtype: z.string().catch(''),
  is_error: z.boolean().catch(false),
  result: z.string().optional().catch(undefined),
  errors: z.array(z.string()).catch([]),
  stop_reason: z.string().nullish().catch(null),
  terminal_reason: z.string().nullish().catch(null),
  /** Why the API has refused the request, in a word, where claude's version says so. */
  api_error: z.string().nullish().catch(null),
  api_error_status: z.number().nullish().catch(null),
});
const LIMITS = new Set(['error_max_turns', 'error_max_budget_usd']);

/**
 * How a turn ended. A failure of the API has the subtype `success`: only `is_error` shows it. `rateLimit`: what claude has
 * told of its limits in the turn.
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
  const isGood = data.subtype === 'success' && !data.is_error;
  if (isGood) return { status: 'completed', error: null };
  const said = data.result ?? (data.errors.join('; ') || data.subtype);
  const limit = limitIn(data, rateLimit);
  if (limit) return limited('claude', said, limit);
  if (isLogout(data, said))
    return failed('auth_required', `claude failed: ${said}: ${loginHint(login)}`);
  return failed('provider_error', `claude failed: ${said}`);
}

const LOGOUT_WORDS =
  /not logged in|\/login\b|invalid api key|failed to authenticate|authentication_(error|failed)|oauth (token|session).*(expired|revoked|invalid)|API Error: 401\b/i;

/** Reports whether the API refused a request because nobody is logged in, or the login has ended. */
function isLogout({ api_error, api_error_status }: z.output<typeof result>, said: string): boolean {
  return api_error_status === 401 || LOGOUT_WORDS.test(`${api_error ?? ''} ${said}`);
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
