import { z } from 'zod';
import type { ReportedLimit } from './provider.ts';
import { maybe, maybeText } from './lenient.ts';

const rateLimit = z.looseObject({
  status: z.string(),
  /** In Unix seconds. */
  resetsAt: maybe(z.number()),
  rateLimitType: maybeText,
});

const withLimit = z.looseObject({ rate_limit_info: rateLimit });

export type RateLimit = z.output<typeof rateLimit>;

/** The limits after a message with `rate_limit_info`; as before where that cannot be read. */
export function limitAfter(before: RateLimit | null, raw: unknown): RateLimit | null {
  const event = withLimit.safeParse(raw).data;
  return event?.rate_limit_info ?? before;
}

/** Windows that count the requests to one model. */
const OF_MODEL = /opus|sonnet|haiku|fable/;

/**
 * The usage limit that has refused a request; null where none has. Claude also calls a busy server `rejected`, which
 * names neither a limit nor a reset.
 */
export function refusedBy(limit: RateLimit | null): ReportedLimit | null {
  const { status, resetsAt = null, rateLimitType: type = null } = limit ?? {};
  if (status !== 'rejected' || (resetsAt === null && type === null)) return null;
  return {
    resetsAt: resetsAt === null ? null : resetsAt * 1000,
    isOfAccount: !OF_MODEL.test(type ?? ''),
  };
}
