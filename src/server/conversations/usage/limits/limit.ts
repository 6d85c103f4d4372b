import type { UsageLimit } from '../../../../api/usage-limit.ts';

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
}

/** A limit that is reported to reset later than in so many ms resets at an unknown time. */
const LONGEST_MS = 366 * 24 * 3_600_000;

/** Returns when a limit resets, as an agent reports it; null if that is not known, or no time that a limit can reset at. */
export function knownReset(resetsAt: number | null, now: number): number | null {
  return resetsAt !== null && resetsAt > 0 && resetsAt <= now + LONGEST_MS
    ? Math.round(resetsAt)
    : null;
}

/** Returns when a limit is over, as far as it is known: in Unix ms; null: not known. */
export function limitEndOf(
  { resetsAt, fruitless }: Pick<Reached, 'resetsAt' | 'fruitless'>,
  now: number,
): number | null {
  if (resetsAt === null) return null;
  const isAgain = fruitless > 0 || resetsAt <= now;
  return isAgain ? Math.max(resetsAt, now + PAUSE_MS) : resetsAt;
}

/** Returns when a session resumes by itself (in Unix ms; null: a person has to resume it), and why it does not. */
export function waitAfter(
  reached: Reached,
  now: number,
): Pick<UsageLimit, 'resumes_at' | 'waits_because'> {
  const waits_because = whyForAPerson(reached);
  return { resumes_at: waits_because === null ? limitEndOf(reached, now) : null, waits_because };
}

function whyForAPerson({ resetsAt, resumes, fruitless }: Reached): UsageLimit['waits_because'] {
  if (!resumes) return 'chosen';
  if (resetsAt === null) return 'unknown_reset';
  return fruitless < FRUITLESS ? null : 'repeated';
}

export function holdMessage({ message, waits_because: why }: UsageLimit): string {
  return why === null ? message : `${message} (${sentences[why]})`;
}

const sentences: Record<NonNullable<UsageLimit['waits_because']>, string> = {
  chosen: 'the session waits until you resume it',
  unknown_reset: 'the reset time is unknown: resume the session yourself',
  repeated: 'the limit was reported again after each reset: resume the session yourself',
};

export const GO_ON =
  'Your last turn was cut off by a usage limit, which has since reset. Continue where you left off.';
