import type { Session } from '../../api/sessions.ts';
import type { UsageLimit } from '../../api/usage-limit.ts';
import { durationText } from '../terminal/time.ts';

/** What a session does about a usage limit, for people: for one that it waits for, else for the next one. */
export function afterLimitText(
  { usage_limit: limit, after_limit: own }: Pick<Session, 'usage_limit' | 'after_limit'>,
  now: number,
): string {
  if (limit) return waitText(limit, now);
  if (own === 'wait') return 'after a usage limit it waits for you';
  return own === 'resume'
    ? 'it goes on by itself when a usage limit has reset'
    : 'after a usage limit it does what the configuration says';
}

/** Until when a session waits for a usage limit, and what ends that before. `others`: what else holds it just now. */
export function waitText(
  { resumes_at: at, waits_because: why }: UsageLimit,
  now: number,
  others: readonly string[] = [],
): string {
  if (at !== null) {
    // As `2026-11-30 08:00:00`, where the command runs.
    const date = new Date(at).toLocaleString('sv-SE').replace(/:00$/, '');
    const moment = `${date}, ${at > now ? `in ${durationText(at - now)}` : 'now'}`;
    return others.length === 0
      ? `it goes on by itself at ${moment}`
      : `it goes on at ${moment}, if nothing else holds it then: ${others.join('; ')}`;
  }
  return `${reasons[why ?? 'chosen']}: it goes on when you resume its queue, or send it a turn`;
}

const reasons: Record<NonNullable<UsageLimit['waits_because']>, string> = {
  chosen: 'it waits for you after a usage limit',
  unknown_reset: 'its agent did not say when the limit resets',
  repeated: 'the limit was reported again each time that it had reset',
};
