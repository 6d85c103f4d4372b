import { z } from 'zod';
import { failed, type TurnOutcome } from '../provider.ts';

const promptAnswer = z.looseObject({ stopReason: z.string() });

/** How a turn ended, by the answer to its prompt. */
export function outcomeOf(answer: unknown): TurnOutcome {
  const { stopReason } = promptAnswer.safeParse(answer).data ?? {};
  switch (stopReason) {
    case 'cancelled':
      return { status: 'interrupted', error: null };
    case 'refusal':
      return failed('refused', 'the agent refused to continue');
    case 'max_tokens':
    case 'max_turn_requests':
      return failed('limit_reached', `the agent reached one of its own limits: ${stopReason}`);
    case undefined:
      return failed('provider_error', 'the agent ended the turn without a stop reason');
    default:
      return { status: 'completed', error: null };
  }
}
