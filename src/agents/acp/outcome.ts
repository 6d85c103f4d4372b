import { z } from 'zod';
import {
  failed,
  limited,
  ProviderError,
  type TurnOutcome,
  type ReportedLimit,
  unknownLimit,
} from '../provider.ts';
import { agentError } from './connection.ts';
import type { AcpProcess } from './process.ts';
import { limitAfter, type RateLimit, refusedBy } from '../claude-limits.ts';
import { maybeText } from '../lenient.ts';

const promptAnswer = z.looseObject({ stopReason: z.string() });

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

/** The outcome of a prompt that the agent has refused, or whose answer did not come. */
export async function outcomeOfError(
  error: unknown,
  process: AcpProcess,
  rateLimit: RateLimit | null,
): Promise<TurnOutcome> {
  if (error instanceof ProviderError) return failed(error.code, error.message);
  const failure = agentError(error);
  if (!failure) return failed('provider_exited', await process.describeLoss());
  const limit = limitIn(error, rateLimit);
  if (limit) return limited('the agent', failure.message, limit);
  const why = process.withNonProtocolOutput(`the agent failed: ${failure.message}`);
  return failed('provider_error', why);
}

const METER = '_claude/rateLimit';
const meter = z.looseObject({ _meta: z.looseObject({ [METER]: z.unknown() }) });
const refusal = z.looseObject({
  message: z.string().catch(''),
  data: z.looseObject({
    /** Field of claude-agent-acp. */
    errorKind: maybeText,
    /** Field of codex-acp. */
    codexErrorInfo: z.unknown().optional(),
  }),
});
/** How claude begins what it says of a usage limit; of a busy server it says something else. */
const CLAUDE_WORDS = /you['\u2019]ve (?:hit|reached) your/i;

/**
 * Returns the limits after an update of a session. ACP has no limits, but the agent for claude adds its limits to the
 * usage.
 */
export function limitAfterUpdate(before: RateLimit | null, raw: unknown): RateLimit | null {
  const metered = meter.safeParse(raw).data?._meta[METER];
  return metered === undefined ? before : limitAfter(before, { rate_limit_info: metered });
}

/** The usage limit that a refused prompt has reached; null where it was refused for another reason. */
export function limitIn(error: unknown, limit: RateLimit | null): ReportedLimit | null {
  const { message = '', data } = refusal.safeParse(error).data ?? {};
  if (data?.codexErrorInfo === 'usageLimitExceeded') return unknownLimit;
  if (data?.errorKind !== 'rate_limit') return null;
  return refusedBy(limit) ?? (CLAUDE_WORDS.test(message) ? unknownLimit : null);
}
