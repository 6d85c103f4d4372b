import type { Budget } from '../api/budgets.ts';
import { type Measure, measures, onceMore } from './budget.ts';

/** What a budget is for, for people: `team "shop" on 2026-11-22`. `name`: of its session or team. */
export function labelOf(
  { session_id, team_id, time_zone }: Pick<Budget, 'session_id' | 'team_id' | 'time_zone'>,
  name: string | null,
): string {
  const day = time_zone === null ? '' : ' for today';
  const quoted = name === null ? '' : ` "${name}"`;
  if (session_id !== null) return `session ${name === null ? session_id : quoted.trim()}${day}`;
  return team_id === null ? `all sessions${day}` : `team${quoted || ` ${team_id}`}${day}`;
}

/** What is spent of what is allowed: `104,000 of 100,000 tokens, 3 of 10 turns`. */
export function spentText({ spent, allowed }: Pick<Budget, 'spent' | 'allowed'>): string {
  return measures
    .flatMap((one) => {
      const most = allowed[one];
      return most === null
        ? []
        : `${figure(one, spent[one])} of ${figure(one, most)}${unit(one, most)}`;
    })
    .join(', ');
}

/** What would be allowed after an acceptance: `204,000 tokens`. */
export function onceMoreText(budget: Pick<Budget, 'limit' | 'spent'>): string {
  const allowed = onceMore(budget);
  return measures
    .flatMap((one) => {
      const most = allowed[one];
      return most === null ? [] : `${figure(one, most)}${unit(one, most)}`;
    })
    .join(', ');
}

function figure(measure: Measure, amount: number): string {
  if (measure !== 'cost_usd') return Math.round(amount).toLocaleString('en');
  return `$${amount.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 4, useGrouping: true })}`;
}

function unit(measure: Measure, amount: number): string {
  if (measure === 'cost_usd') return '';
  return measure === 'tokens' ? ' tokens' : amount === 1 ? ' turn' : ' turns';
}
