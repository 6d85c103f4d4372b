import { z } from 'zod';
import type { Usage } from '../../api/sessions.ts';
import { reported, tokenCount } from '../../core/lib/reported-numbers.ts';
import type { ReportedLimit } from '../provider.ts';
import { maybe, maybeText } from '../lenient.ts';

const count = reported.tokens.transform((one) => one ?? 0);
const tokens = z.looseObject({
  totalTokens: z.number().pipe(tokenCount.catch(Number.NaN)),
  inputTokens: count,
  cachedInputTokens: count,
  outputTokens: count,
});
type Tokens = z.output<typeof tokens>;

const update = z.looseObject({
  tokenUsage: z.looseObject({
    total: tokens,
    last: tokens,
    modelContextWindow: reported.tokens,
  }),
});

/** The usage of a thread. Codex reports the sum of the thread, also over a resume: a turn's own usage is a difference. */
export class Meter {
  /** The sum before the turn; null where codex has not reported any yet. */
  #before: Tokens | null = null;
  #total: Tokens | null = null;

  begin(): void {
    const isKnown = this.#total && !Object.values(this.#total).some(Number.isNaN);
    this.#before = isKnown ? this.#total : null;
  }

  save() {
    return { before: withNulls(this.#before), total: withNulls(this.#total) };
  }

  restore({ before, total }: ReturnType<Meter['save']>): void {
    this.#before = before && withNumbers(before);
    this.#total = total && withNumbers(total);
  }

  /** The usage of the turn that began last, by a report of the thread's sum; `unknown` where the report cannot be read. */
  read(params: unknown): Partial<Usage> | 'unknown' {
    const usage = update.safeParse(params).data?.tokenUsage;
    if (!usage) return 'unknown';
    const { total, last, modelContextWindow } = usage;
    this.#total = total;
    this.#before ??= less(total, last);
    const own = less(total, this.#before);
    return {
      // Codex counts cached tokens as input, too.
      input_tokens: own.inputTokens - own.cachedInputTokens,
      cached_input_tokens: own.cachedInputTokens,
      output_tokens: own.outputTokens,
      total_tokens: own.totalTokens,
      context_tokens: last.totalTokens,
      ...(typeof modelContextWindow === 'number' && modelContextWindow !== 0
        ? { context_window: modelContextWindow }
        : {}),
    };
  }
}

const counts = tokens.keyof().options;
type Counts<T> = Record<(typeof counts)[number], T>;

/** JSON has no number for one that is out of range. */
function withNulls(all: Tokens | null): Counts<number | null> | null {
  return all && mapped(all, (one) => (Number.isNaN(one) ? null : one));
}

function withNumbers(all: Counts<number | null>): Tokens {
  return mapped(all, (one) => one ?? Number.NaN);
}

function mapped<A, B>(all: Counts<A>, by: (one: A) => B): Counts<B> {
  return Object.fromEntries(counts.map((name) => [name, by(all[name])] as const)) as Counts<B>;
}

function less(a: Tokens, b: Tokens): Tokens {
  const rest = { ...a };
  for (const name of counts) rest[name] = Math.max(0, a[name] - b[name]);
  return rest;
}

/** `resetsAt` in Unix seconds. */
const window = maybe(z.looseObject({ usedPercent: z.number(), resetsAt: maybe(z.number()) }));
const updated = z.looseObject({
  rateLimits: z.looseObject({
    limitId: maybeText,
    primary: window,
    secondary: window,
  }),
});

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
