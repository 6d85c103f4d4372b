import { z } from 'zod';
import { failed, type TurnOutcome } from '../provider.ts';
import type { Message } from './connection.ts';
import { loginHint } from '../own-home.ts';

const result = z.looseObject({
  subtype: z.string().catch(''),
  is_error: z.boolean().catch(false),
  result: z.string().optional().catch(undefined),
  errors: z.array(z.string()).catch([]),
  stop_reason: z.string().nullish().catch(null),
  terminal_reason: z.string().nullish().catch(null),
});
const LIMITS = new Set(['error_max_turns', 'error_max_budget_usd']);

/** How a turn ended. A failure of the API has the subtype `success`: only `is_error` shows it. */
export function outcomeOf(message: Message, hasOwnHome: boolean): TurnOutcome {
  const { data } = result.safeParse(message);
  if (!data) return failed('provider_error', 'claude ended the turn without saying how');
  if (data.terminal_reason?.startsWith('aborted')) return { status: 'interrupted', error: null };
  if (data.stop_reason === 'refusal') return failed('refused', 'claude refused to go on');
  if (LIMITS.has(data.subtype))
    return failed('limit_reached', `claude stopped at a limit of its own (${data.subtype})`);
  const isGood = data.subtype === 'success' && !data.is_error;
  if (isGood) return { status: 'completed', error: null };
  const said = data.result ?? (data.errors.join('; ') || data.subtype);
  return failed('provider_error', `claude failed: ${said}${wayOut(said, hasOwnHome)}`);
}

/** The text in the result of a turn. The answer to a slash command is nowhere else. */
export function textOf(message: Message): string {
  return result.safeParse(message).data?.result ?? '';
}

function wayOut(said: string, hasOwnHome: boolean): string {
  const isLogin = /not logged in|\/login|invalid api key/i.test(said);
  return isLogin ? `: ${loginHint('claude', hasOwnHome)}` : '';
}
