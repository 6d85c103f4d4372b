import type { Budget, BudgetAmounts } from '../../../../api/budgets.ts';
import type { Usage } from '../../../../api/sessions.ts';
import { endOfDay, startOfDay } from '../../../../core/lib/days.ts';
import { saturatingSum } from '../../../../core/lib/reported-numbers.ts';
import type { UsageSums } from '../../../../core/lib/usage-sums.ts';
import { tokensOf } from '../../sessions/turn-usage.ts';

const DAY_MS = 86_400_000;
/** Sums of dollars are rounded: one that is short of a limit by less has reached it. */
const SAME_USD = 1e-9;

export const measures = ['tokens', 'cost_usd', 'turns'] as const;
export type Measure = (typeof measures)[number];

/** Returns the measures (tokens, cost, turns) whose limit a budget has reached. */
export function usedUp({ allowed, spent }: Pick<Budget, 'allowed' | 'spent'>): Measure[] {
  return measures.filter((one) => {
    const most = allowed[one];
    return most !== null && spent[one] >= most - (one === 'cost_usd' ? SAME_USD : 0);
  });
}

export function spentBy(sums: UsageSums): Budget['spent'] {
  const { turns, turns_without_tokens, turns_without_cost } = sums;
  const [tokens, cost_usd] = [sums.total_tokens ?? 0, sums.cost_usd ?? 0];
  return { tokens, cost_usd, turns, turns_without_tokens, turns_without_cost };
}

export function withTurn(spent: Budget['spent'], usage: Usage | null): Budget['spent'] {
  const tokens = tokensOf(usage);
  const cost = usage?.cost_usd ?? null;
  return {
    tokens: saturatingSum(spent.tokens, tokens ?? 0),
    cost_usd: saturatingSum(spent.cost_usd, cost ?? 0),
    turns: spent.turns + 1,
    turns_without_tokens: spent.turns_without_tokens + (tokens === null ? 1 : 0),
    turns_without_cost: spent.turns_without_cost + (cost === null ? 1 : 0),
  };
}

/** Returns the spent amounts after an agent has corrected the usage of a turn that was counted before. */
export function amended(
  spent: Budget['spent'],
  before: Usage | null,
  after: Usage | null,
): Budget['spent'] {
  const [old, now] = [withTurn(nothing, before), withTurn(nothing, after)];
  const changed = { ...spent };
  for (const field of fields) changed[field] = saturatingSum(spent[field], now[field] - old[field]);
  return changed;
}

const fields = [...measures, 'turns_without_tokens', 'turns_without_cost'] as const;
export const nothing: Budget['spent'] = {
  tokens: 0,
  cost_usd: 0,
  turns: 0,
  turns_without_tokens: 0,
  turns_without_cost: 0,
};

export const notReached = {
  status: 'open' as const,
  reached_at: null,
  approval_id: null,
  approval_session_id: null,
};

/** Returns the amounts that an acceptance allows: the spent amounts plus the limit. */
export function onceMore({ limit, spent }: Pick<Budget, 'limit' | 'spent'>): BudgetAmounts {
  const more = (one: Measure) => {
    const most = limit[one];
    return most === null ? null : saturatingSum(spent[one], most);
  };
  return { tokens: more('tokens'), cost_usd: more('cost_usd'), turns: more('turns') };
}

/** Returns the day of a budget at a moment; nulls for one without days. */
export function dayAt(
  time_zone: string | null,
  now: number,
): Pick<Budget, 'day_begins_at' | 'day_ends_at'> {
  if (time_zone === null) return { day_begins_at: null, day_ends_at: null };
  return { day_begins_at: startOfDay(now, time_zone), day_ends_at: endOfDay(now, time_zone) };
}

/** Whether the day is over. A clock set back by less than a day does not bring back a day that was used up. */
export function isDayOver(
  { day_begins_at, day_ends_at }: Pick<Budget, 'day_begins_at' | 'day_ends_at'>,
  now: number,
): boolean {
  if (day_begins_at === null || day_ends_at === null) return false;
  return now >= day_ends_at || now < day_begins_at - DAY_MS;
}

/** Whether the sums of a budget are in range. Earlier builds counted numbers out of range. */
export function isSound({ limit, allowed, spent }: Budget): boolean {
  const isCount = (sum: number | null) =>
    sum !== null && sum >= 0 && sum <= Number.MAX_SAFE_INTEGER;
  return measures.every(
    (one) => isCount(spent[one]) && (limit[one] === null || isCount(allowed[one])),
  );
}
