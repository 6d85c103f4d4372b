import type { Session } from '../../api/sessions.ts';
import type { ReasonForUser, UsageLimit } from '../../api/usage-limit.ts';
import { handoffNameOf } from '../../api/after-limit.ts';
import { durationText } from '../terminal/time.ts';
import { plain } from './output.ts';
import { dateText } from './when.ts';

export function afterLimitText(
  { usage_limit: limit, after_limit: own }: Pick<Session, 'usage_limit' | 'after_limit'>,
  now: number,
): string {
  if (limit) return waitText(limit, now);
  const next = handoffNameOf(own ?? '');
  if (next !== null) return `at a usage limit, ${plain(next)} continues the session`;
  if (own === 'wait') return 'after a usage limit, the session waits for you';
  return own === 'resume'
    ? 'the session resumes by itself when a usage limit has reset'
    : 'after a usage limit, the session follows the configuration';
}

/** Until when a session waits for a usage limit, and what ends that before. `others`: what else holds it just now. */
export function waitText(limit: UsageLimit, now: number, others: readonly string[] = []): string {
  const { handoff_failure: failure } = limit;
  const text = untilText(limit, now, others);
  return failure === undefined ? text : `${text} (the handoff has failed: ${plain(failure)})`;
}

function untilText(
  { resumes_at: at, waits_because: why, hands_over_to: next = '' }: UsageLimit,
  now: number,
  others: readonly string[],
): string {
  if (why === 'handoff') return `the session is being handed over to ${plain(next)}`;
  if (why === 'consent')
    return `to let ${plain(next)} continue sessions of this repository, run cadre worktrees trust --handoff ${plain(next)} in it`;
  if (at !== null) {
    const moment = `${dateText(at)}, ${at > now ? `in ${durationText(at - now)}` : 'now'}`;
    return others.length === 0
      ? `the session resumes by itself at ${moment}`
      : `the session resumes at ${moment}, unless something else still holds it: ${others.join('; ')}`;
  }
  return `${reasons[why ?? 'chosen']}: resume its queue, or send a prompt, to continue`;
}

const reasons: Record<ReasonForUser, string> = {
  chosen: 'the session waits for you after a usage limit',
  unknown_reset: 'the agent did not report when the usage limit resets',
  repeated: 'the usage limit was reported again after each reset',
};
