import { z } from 'zod';
import { failed, type TurnOutcome } from '../provider.ts';
import { readPromptUsage } from './updates.ts';

const promptAnswer = z.looseObject({ stopReason: z.string(), usage: z.unknown().optional() });

/** How a turn ended, by the answer to its prompt. */
export function outcomeOf(answer: unknown): TurnOutcome {
  const { data } = promptAnswer.safeParse(answer);
  const usage = readPromptUsage(data?.usage);
  const used = usage ? { usage } : {};
  switch (data?.stopReason) {
    case 'cancelled':
      return { status: 'interrupted', error: null, ...used };
    case 'refusal':
      return { ...failed('refused', 'the agent refused to go on'), ...used };
    case 'max_tokens':
    case 'max_turn_requests':
      return {
        ...failed('limit_reached', `the agent stopped at a limit of its own (${data.stopReason})`),
        ...used,
      };
    case undefined:
      return failed('provider_error', 'the agent ended the turn without saying how');
    default:
      return { status: 'completed', error: null, ...used };
  }
}
