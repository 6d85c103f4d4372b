import { z } from 'zod';
import type { ReportedLimit } from '../provider.ts';

/** `resetsAt` in Unix seconds. */
const window = z
  .looseObject({ usedPercent: z.number(), resetsAt: z.number().nullish().catch(null) })
  .nullish()
  .catch(null);
const updated = z.looseObject({
  rateLimits: z.looseObject({
    limitId: z.string().nullish().catch(null),
    primary: window,
    secondary: window,
  }),
});

/** What codex last told of one of the limits of its account. */
export type RateLimits = z.output<typeof updated>['rateLimits'];

/** The bucket that all models of codex draw on; another one is of one model. */
const SHARED = 'codex';

/** The limits after an `account/rateLimits/updated`; as before where it cannot be read. */
export function limitsAfter(before: RateLimits | null, params: unknown): RateLimits | null {
  return updated.safeParse(params).data?.rateLimits ?? before;
}

/**
 * The usage limit that codex names as the reason of a failure. It resets when the last window does that is used up. The
 * words of the failure have a time of day without a day, so they are not read.
 */
export function reachedLimit(limits: RateLimits | null, now: number): ReportedLimit {
  const resets = [limits?.primary, limits?.secondary]
    .filter((one) => one && one.usedPercent >= 100)
    .map((one) => (one?.resetsAt ?? 0) * 1000)
    .filter((at) => at > now);
  return {
    resetsAt: resets.length === 0 ? null : Math.max(...resets),
    isOfAccount: (limits?.limitId ?? SHARED) === SHARED,
  };
}
