import { z } from 'zod';
import type { Usage } from '../../api/sessions.ts';
import { failed, type TurnOutcome } from '../provider.ts';

const promptAnswer = z.looseObject({ stopReason: z.string() });

/** How a turn ended, by the answer to its prompt. `usage`: what it has used, where the agent says so. */
export function outcomeOf(answer: unknown, usage: Partial<Usage> | undefined): TurnOutcome {
  const { stopReason } = promptAnswer.safeParse(answer).data ?? {};
  const used = usage ? { usage } : {};
  switch (stopReason) {
    case 'cancelled':
      return { status: 'interrupted', error: null, ...used };
    case 'refusal':
      return { ...failed('refused', 'the agent refused to go on'), ...used };
    case 'max_tokens':
    case 'max_turn_requests':
      return {
        ...failed('limit_reached', `the agent stopped at a limit of its own (${stopReason})`),
        ...used,
      };
    case undefined:
      return failed('provider_error', 'the agent ended the turn without saying how');
    default:
      return { status: 'completed', error: null, ...used };
  }
}
