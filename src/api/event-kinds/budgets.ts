import { z } from 'zod';
import { budget } from '../budgets.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('runtime');

const none = { tokens: null, cost_usd: null, turns: null };
const open = {
  id: 'bud_019aa8d5ee107b7d9c0a7f5e2d1c0b13',
  session_id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  team_id: null,
  per: 'total' as const,
  time_zone: null,
  limit: { ...none, tokens: 100_000 },
  allowed: { ...none, tokens: 100_000 },
  spent: {
    tokens: 42_000,
    cost_usd: 0,
    turns: 3,
    turns_without_tokens: 0,
    turns_without_cost: 3,
  },
  hard: false,
  status: 'open' as const,
  reached_at: null,
  approval_id: null,
  approval_session_id: null,
  day_begins_at: null,
  day_ends_at: null,
  created_by: 'api',
  created_at: 1795312001000,
  updated_at: 1795312001000,
};
const reached = {
  ...open,
  spent: { ...open.spent, tokens: 104_000, turns: 6, turns_without_cost: 6 },
  status: 'reached' as const,
  reached_at: 1795312009000,
  approval_id: 'apr_019aa8d2a4417f70b7d1c3e5f7a90b21',
  approval_session_id: open.session_id,
};

/** Events of budgets for one session or team carry its id. Events of budgets for all sessions carry neither. */
export const budgetKinds = {
  'budget.set': kind({
    when: 'Emitted when a user sets a budget or sets it again.',
    payload: { budget },
    example: { budget: open },
  }),
  'budget.reached': kind({
    when: 'Emitted when a budget is used up. No turn of the sessions of the budget starts until the approval of the budget is accepted. Running turns continue unless the budget is hard.',
    payload: { budget },
    example: { budget: reached },
  }),
  'budget.declined': kind({
    when: 'Emitted when a user declines the approval request of a used-up budget, so that no further turns start.',
    payload: { budget },
    example: { budget: { ...reached, status: 'declined' } },
  }),
  'budget.released': kind({
    when: 'Emitted when a budget allows turns again. The field `why` contains the reason: `accepted` (a user accepted the approval), `set` (a user set the budget again) or `day` (the next day of the budget has started).',
    payload: { budget, why: z.enum(['accepted', 'set', 'day']) },
    example: {
      budget: {
        ...open,
        allowed: { ...none, tokens: 204_000 },
        spent: reached.spent,
      },
      why: 'accepted',
    },
  }),
  'budget.removed': kind({
    when: 'Emitted when a budget is removed. The field `why` contains the reason: `removed` (by a user), `closed` (with the session) or `deleted` (with the team).',
    payload: { budget, why: z.enum(['removed', 'closed', 'deleted']) },
    example: { budget: open, why: 'removed' },
  }),
};
