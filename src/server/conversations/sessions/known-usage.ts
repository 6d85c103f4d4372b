import type { Usage } from '../../../api/sessions.ts';
import { costInUsd, saturatingSum, tokenCount } from '../../../core/lib/reported-numbers.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import { noUsage } from './turn.ts';
import { summedFields, tokensOf } from './turn-usage.ts';

const ranges = {
  input_tokens: tokenCount,
  output_tokens: tokenCount,
  cached_input_tokens: tokenCount,
  total_tokens: tokenCount,
  context_tokens: tokenCount,
  context_window: tokenCount,
  cost_usd: costInUsd,
} as const;

type UsageField = keyof typeof ranges;
const fields = Object.keys(ranges) as UsageField[];

export class UsageReports {
  /** The fields that were out of range, and whether a notice named them. */
  readonly #outOfRange: Map<UsageField, boolean>;

  constructor(outOfRange: ReturnType<UsageReports['save']> = []) {
    this.#outOfRange = new Map(outOfRange);
  }

  save(): (readonly [field: UsageField, isNamed: boolean])[] {
    return [...this.#outOfRange];
  }

  /** Returns the fields of a report that are null or in their range. The others are not known. */
  known(reported: Partial<Usage>): Partial<Usage> {
    const known: Partial<Usage> = {};
    for (const field of fields) {
      const value = reported[field];
      if (value === undefined) continue;
      if (value === null || ranges[field].safeParse(value).success) known[field] = value;
      else if (!this.#outOfRange.has(field)) this.#outOfRange.set(field, false);
    }
    return known;
  }

  /** Returns the notice of the fields that no notice has named yet; null if there are none. */
  notice(tx: Writer): { code: string; message: string } | null {
    const names = [...this.#outOfRange].flatMap(([field, isNamed]) => (isNamed ? [] : field));
    if (names.length === 0) return null;
    for (const one of names) this.#outOfRange.set(one, true);
    tx.whenLost(() => names.forEach((one) => this.#outOfRange.set(one, false)));
    const message = `the agent reported numbers out of range, which are not counted: ${names.join(', ')}`;
    return { code: 'usage_out_of_range', message };
  }
}

/** Returns the usage with the fields that an agent has reported. */
export function mergeUsage(before: Usage | null, reported: Partial<Usage>): Usage {
  return { ...(before ?? noUsage), ...reported };
}

/** Returns the usage after a later report. Sums never sink: else an agent could take back what budgets have counted. */
export function amendedUsage(before: Usage | null, after: Usage): Usage {
  if (!before) return after;
  const amended = { ...after };
  for (const field of summedFields) {
    const isTotal = field === 'total_tokens' && after.total_tokens !== null;
    const counted = isTotal ? tokensOf(before) : before[field];
    if (counted !== null) amended[field] = Math.max(counted, after[field] ?? 0);
  }
  return amended;
}

/** Returns the usage of a session: the sum over its turns, and the context of the newest turn that reports one. */
export function addUsage(before: Usage | null, turn: Usage | null): Usage | null {
  if (!turn) return before;
  if (!before) return turn;
  const sum = { ...before };
  for (const field of summedFields)
    sum[field] =
      turn[field] === null ? before[field] : saturatingSum(before[field] ?? 0, turn[field]);
  sum.context_tokens = turn.context_tokens ?? before.context_tokens;
  sum.context_window = turn.context_window ?? before.context_window;
  return sum;
}
