import type { ReasonForUser, UsageLimit } from '../../../../api/usage-limit.ts';
import { oneLine } from '../../../../core/lib/plain.ts';

/** A limit that is reported again as soon as it has reset waits for at least so long, in ms. */
const PAUSE_MS = 60_000;
/** After so many turns in a row that have met the limit before they did anything, a person has to resume the session. */
const FRUITLESS = 3;

interface Reached {
  /** In Unix ms; null: not known. */
  resetsAt: number | null;
  /** Whether the session resumes by itself. */
  resumes: boolean;
  /** How many turns in a row have gone on after the limit had reset, and met it again at once. */
  fruitless: number;
  handoff?: Handoff | null;
}

/** The agent that is to continue a session, and whether it is allowed so far; or the reason why no agent continues it. */
export type Handoff = { to: string; isAllowed: boolean } | { failure: string };

/** A limit that is reported to reset later than in so many ms resets at an unknown time. */
const LONGEST_MS = 366 * 24 * 3_600_000;

/** Returns when a limit resets, as an agent reports it; null if that is not known, or no time that a limit can reset at. */
export function knownReset(resetsAt: number | null, now: number): number | null {
  return resetsAt !== null && resetsAt > 0 && resetsAt <= now + LONGEST_MS
    ? Math.round(resetsAt)
    : null;
}

/** Returns the time at which a limit resets, in Unix ms. Null if the time is unknown. */
export function limitEndOf(
  { resetsAt, fruitless }: Pick<Reached, 'resetsAt' | 'fruitless'>,
  now: number,
): number | null {
  if (resetsAt === null) return null;
  const isAgain = fruitless > 0 || resetsAt <= now;
  return isAgain ? Math.max(resetsAt, now + PAUSE_MS) : resetsAt;
}

/**
 * Returns the time at which a session resumes by itself (Unix ms; null if it does not), the reason if it does not, and the
 * agent that continues it.
 */
export function waitAfter(
  reached: Reached,
  now: number,
): Pick<UsageLimit, 'resumes_at' | 'waits_because' | 'hands_over_to' | 'handoff_failure'> {
  const { handoff } = reached;
  if (handoff && 'to' in handoff) {
    const waits_because = handoff.isAllowed ? 'handoff' : 'consent';
    return { resumes_at: null, waits_because, hands_over_to: handoff.to };
  }
  const waits_because = whyForAPerson(reached);
  const resumes_at = waits_because === null ? limitEndOf(reached, now) : null;
  return { resumes_at, waits_because, ...(handoff && { handoff_failure: handoff.failure }) };
}

function whyForAPerson({ resetsAt, resumes, fruitless }: Reached): ReasonForUser | null {
  if (!resumes) return 'chosen';
  if (resetsAt === null) return 'unknown_reset';
  return fruitless < FRUITLESS ? null : 'repeated';
}

export function holdMessage(limit: UsageLimit): string {
  const { message, waits_because: why, hands_over_to: next, handoff_failure: failure } = limit;
  const reason =
    failure === undefined ? message : `${message} (the handoff has failed: ${oneLine(failure)})`;
  if (why === 'handoff') return `${reason} (the session is being handed over to ${next})`;
  if (why === 'consent')
    return `${reason} (nobody has allowed ${next} to continue sessions of this repository)`;
  return why === null ? reason : `${reason} (${sentences[why]})`;
}

const sentences: Record<ReasonForUser, string> = {
  chosen: 'the session waits until you resume it',
  unknown_reset: 'the reset time is unknown: resume the session yourself',
  repeated: 'the limit was reported again after each reset: resume the session yourself',
};

export const CONTINUE_PROMPT =
  'Your last turn was cut off by a usage limit, which has since reset. Continue where you left off.';
