import { z } from 'zod';
import type { Usage } from '../../api/sessions.ts';
import { fieldOf, maybe } from '../lenient.ts';
import { reported } from '../../core/lib/reported-numbers.ts';
import type { AgentUpdate } from '../provider.ts';

const usageUpdate = z.looseObject({
  used: reported.tokens,
  size: reported.tokens,
  cost: maybe(z.looseObject({ amount: reported.usd, currency: z.string() })),
});

/** How full the context is, and what the whole session has cost so far. */
export function readUsageUpdate(raw: unknown): AgentUpdate | 'unknown' {
  const { data } = usageUpdate.safeParse(raw);
  if (!data) return 'unknown';
  const usage: Partial<Usage> = {};
  if (data.used !== undefined) usage.context_tokens = data.used;
  if (data.size !== undefined) usage.context_window = data.size;
  const { amount, currency } = data.cost ?? {};
  if (currency === 'USD' && typeof amount === 'number') usage.cost_usd = amount;
  return { type: 'usage', usage };
}

type Tokens = Pick<
  Usage,
  'input_tokens' | 'output_tokens' | 'cached_input_tokens' | 'total_tokens'
>;

/** How an agent counts, which is known once it has said who it is. */
interface CountingRules {
  /** Whether its token counts are sums over the session. Otherwise they are counts of a turn. */
  isCumulative: () => boolean;
  /** Whether its cost is the cost of its process. Otherwise it is the cost of the session. */
  isCostOfProcess: () => boolean;
}

type Earlier = Tokens & { cost_usd?: number | null };

/** Counts what the turns of one session have used, from wherever the agent says it. */
export class UsageMeter {
  readonly #cost: CostMeter;
  readonly #isCumulative: () => boolean;
  /** Counts of the agent before this turn. Null if they are unknown. */
  #before: Tokens | null;
  /** Usage of the requests of this turn, if the agent counts each request. */
  #requests: Tokens | null = null;

  /** `before`: the sum of all earlier turns of the session. */
  constructor({
    isCumulative,
    isCostOfProcess,
    before,
  }: CountingRules & { before: Earlier | null }) {
    this.#isCumulative = isCumulative;
    this.#before = before;
    this.#cost = new CostMeter(isCostOfProcess, before?.cost_usd ?? 0);
  }

  /** An update as it counts for the session: with the cost of the whole session, also where the agent counts anew. */
  ofSession(usage: Partial<Usage>): Partial<Usage> {
    const { cost_usd: cost } = usage;
    return typeof cost === 'number' ? { ...usage, cost_usd: this.#cost.ofSession(cost) } : usage;
  }

  beginTurn(): void {
    this.#requests = null;
  }

  save() {
    return { before: this.#before, requests: this.#requests, cost: this.#cost.save() };
  }

  restore({ before, requests, cost }: ReturnType<UsageMeter['save']>): void {
    this.#before = before;
    this.#requests = requests;
    this.#cost.restore(cost);
  }

  /**
   * Returns the usage of a request in the `_meta` of a message, added to the earlier requests. Null if there is none.
   */
  request(raw: unknown): Partial<Usage> | null {
    const used = tokensIn(metaOf(raw).usage);
    if (!used) return null;
    this.#requests = sum(this.#requests, used);
    const context = used.input_tokens;
    return { ...this.#requests, ...(context === null ? {} : { context_tokens: context }) };
  }

  /** Returns the usage of a turn in the answer to its prompt. Undefined if the answer has none. */
  turn(answer: unknown): Partial<Usage> | undefined {
    const used = readPromptUsage(answer);
    if (!used || !this.#isCumulative()) return used;
    const before = this.#before;
    const known = knownOf(used, before);
    this.#before = known;
    return before && isAtLeast(known, before) ? difference(used, before) : used;
  }
}

/** Sums of money are rounded: two that differ by less, in USD, are the same. */
const SAME_USD = 1e-6;

/**
 * The cost of a session. Agents report the cost of the whole session so far. Some agents forget the cost after a
 * restart or in a new conversation, and then count from zero.
 */
class CostMeter {
  /**
   * `forgotten`: the cost that the agent no longer counts. `counted`: the highest sum that the agent has counted since
   * then. `isFirst`: whether the agent has counted nothing yet.
   */
  #memory: { forgotten: number; counted: number; isFirst: boolean };
  readonly #isOfProcess: () => boolean;

  /** `before`: the cost of the session before this process. */
  constructor(isOfProcess: () => boolean, before: number) {
    this.#isOfProcess = isOfProcess;
    this.#memory = { forgotten: 0, counted: before, isFirst: true };
  }

  ofSession(cost: number): number {
    if (Number.isNaN(cost)) return cost;
    let { forgotten, counted } = this.#memory;
    if ((this.#memory.isFirst && this.#isOfProcess()) || cost < counted - SAME_USD) {
      forgotten += counted;
      counted = 0;
    }
    counted = Math.max(counted, cost);
    this.#memory = { forgotten, counted, isFirst: false };
    return forgotten + counted;
  }

  save() {
    return this.#memory;
  }

  restore(saved: ReturnType<CostMeter['save']>): void {
    this.#memory = saved;
  }
}

/** The usage in the answer to a prompt: in its own field, or where some agents put it; undefined where there is none. */
export function readPromptUsage(answer: unknown): Tokens | undefined {
  const { usage: inMeta, quota } = metaOf(answer);
  return (
    tokensIn(fieldOf(answer, 'usage')) ??
    tokensIn(inMeta) ??
    quotaTokens.safeParse(quota).data?.token_count
  );
}

function metaOf(raw: unknown): { usage: unknown; quota: unknown } {
  const meta = fieldOf(raw, '_meta');
  return { usage: fieldOf(meta, 'usage'), quota: fieldOf(meta, 'quota') };
}

const count = reported.tokens.transform((one) => one ?? null);
const tokens = z
  .looseObject({
    inputTokens: count,
    outputTokens: count,
    cachedReadTokens: count,
    totalTokens: count,
  })
  .transform((counts): Tokens => {
    return {
      input_tokens: counts.inputTokens,
      output_tokens: counts.outputTokens,
      cached_input_tokens: counts.cachedReadTokens,
      total_tokens: counts.totalTokens,
    };
  });

function tokensIn(raw: unknown): Tokens | undefined {
  return raw === undefined ? undefined : tokens.safeParse(raw).data;
}

const quotaTokens = z.looseObject({
  token_count: z
    .looseObject({
      input_tokens: count,
      output_tokens: count,
      cached_tokens: count,
      total_tokens: count,
    })
    .transform(({ input_tokens, output_tokens, cached_tokens, total_tokens }): Tokens => {
      const isKnown = input_tokens !== null && output_tokens !== null;
      return {
        input_tokens,
        output_tokens,
        cached_input_tokens: cached_tokens,
        total_tokens: total_tokens ?? (isKnown ? input_tokens + output_tokens : null),
      };
    }),
});

const fields = ['input_tokens', 'output_tokens', 'cached_input_tokens', 'total_tokens'] as const;

function combined(a: Tokens, b: Tokens, combine: (a: number, b: number) => number): Tokens {
  const result = { ...a };
  for (const field of fields) {
    const [x, y] = [a[field], b[field]];
    result[field] = x === null ? y : y === null ? x : combine(x, y);
  }
  return result;
}

function sum(a: Tokens | null, b: Tokens): Tokens {
  return a ? combined(a, b, (x, y) => x + y) : b;
}

function difference(now: Tokens, before: Tokens): Tokens {
  const rest = combined(now, before, (x, y) => x - y);
  for (const field of fields) if (now[field] === null) rest[field] = null;
  return rest;
}

/** Numbers without those out of range: these are as they were before. */
function knownOf(now: Tokens, before: Tokens | null): Tokens {
  const known = { ...now };
  for (const field of fields)
    if (Number.isNaN(known[field])) known[field] = before?.[field] ?? null;
  return known;
}

/** Whether no number is lower than before. Else the agent has begun to count anew. */
function isAtLeast(now: Tokens, before: Tokens): boolean {
  return fields.every((field) => (now[field] ?? before[field] ?? 0) >= (before[field] ?? 0));
}
