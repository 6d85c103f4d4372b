import { z } from 'zod';
import {
  component,
  flag,
  nullableText,
  nullableTime,
  optionalText,
  pageQuery,
  text,
  timestamp,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { timeZoneName } from './usage.ts';

/** The maximum number of budgets. */
export const MAX_BUDGETS = 1000;

export const budgetPer = z.enum(['total', 'day']).meta({
  description:
    "Period of the budget. `total`: all turns, including turns before the budget was set. `day`: turns that end on one day of the budget's time zone; each day starts at zero.",
});

const limits = {
  tokens: z.number().nullable().meta({
    description: 'Total tokens, as providers count them. Null if not limited.',
  }),
  cost_usd: z.number().nullable().describe('Cost in US dollars. Null if not limited.'),
  turns: z.number().nullable().describe('Number of turns. Null if not limited.'),
};
const budgetAmounts = component('BudgetAmounts', 'Limits of a budget.', limits);
export type BudgetAmounts = z.output<typeof budgetAmounts>;

const spent = component('BudgetSpent', 'Usage of the turns of a budget.', {
  tokens: z.number(),
  cost_usd: z.number(),
  turns: z.int(),
  turns_without_tokens: z
    .int()
    .describe('Number of turns without known tokens. Their tokens are not counted.'),
  turns_without_cost: z.int().describe('Number of turns without a known cost.'),
});

export const budgetStatus = z.enum(['open', 'reached', 'declined']).meta({
  description:
    'Status of the budget. `open`: turns may start. `reached`: no turn starts, and an approval requests a decision to continue. `declined`: no turn starts until the budget is set again or removed, or its next day starts.',
});

export const budget = component(
  'Budget',
  'A limit on the usage of a session, a team or all sessions.',
  {
    id: z.string(),
    session_id: nullableText(
      'Session that the budget limits. Null if it limits a team or all sessions.',
    ),
    team_id: nullableText(
      'Team that the budget limits. If session_id is null too, the budget limits all sessions together.',
    ),
    per: budgetPer,
    time_zone: timeZoneName
      .nullable()
      .describe('Time zone in which days start. Null if the budget has no days.'),
    limit: budgetAmounts.describe('Limits as they were set.'),
    allowed: budgetAmounts.describe(
      'Limits that apply now. Initially equal to `limit`. After each acceptance: the amount spent so far plus `limit`. Each new day starts with `limit`.',
    ),
    spent: spent.describe('Usage so far, in total or on the current day of the budget.'),
    hard: flag(
      'Whether running turns are interrupted when the budget is reached. Otherwise they continue.',
    ),
    status: budgetStatus,
    reached_at: timestamp.nullable(),
    approval_id: nullableText(
      'Approval that is pending or was declined. Null without such an approval.',
    ),
    approval_session_id: nullableText(
      'Session of the approval in `approval_id`. Null if `approval_id` is null.',
    ),
    day_begins_at: nullableTime(
      'Start of the day that `spent` covers (Unix ms). Null if the budget has no days.',
    ),
    day_ends_at: nullableTime('Start of the next day (Unix ms). Null if the budget has no days.'),
    created_by: text('Id of the token that last set the budget.'),
    created_at: timestamp,
    updated_at: timestamp,
  },
);
export type Budget = z.output<typeof budget>;

const most = 1e15;
const count = z.int().positive().max(most).nullish();
/** The smallest budget in US dollars. Costs that differ by less count as equal. */
const LEAST_USD = 1e-6;
const cost = z.number().min(LEAST_USD).max(most).nullish();

export const listBudgets = endpoint('GET /v1/budgets', {
  summary: 'List budgets, newest first',
  query: {
    session_id: z.string().optional().describe('Return only budgets of this session.'),
    team_id: z.string().optional().describe('Return only budgets of this team.'),
    ...pageQuery,
  },
  response: z.array(budget),
});

export const getBudget = endpoint('GET /v1/budgets/{budget_id}', {
  summary: 'Get a budget',
  params: { budget_id: text('Budget id.') },
  response: budget,
});

export const setBudget = endpoint('POST /v1/budgets', {
  summary: 'Set the budget of a session, a team or all sessions; replaces an existing one',
  body: z.strictObject({
    session_id: optionalText('Session to limit.'),
    team_id: optionalText(
      'Team to limit. Without session_id and team_id, the budget limits all sessions together.',
    ),
    per: budgetPer.nullish().meta({
      description:
        'Period of the budget. Default: `total` for a session or team, `day` for all sessions. A budget for all sessions must be per day.',
    }),
    time_zone: timeZoneName
      .nullish()
      .describe('Time zone in which days start. Default: the time zone of the server.'),
    tokens: count.describe('Maximum number of tokens.'),
    cost_usd: cost.describe('Maximum cost in US dollars.'),
    turns: count.describe('Maximum number of turns.'),
    hard: z.boolean().nullish().meta({
      description:
        'Whether running turns are interrupted when the budget is reached. Default: false (they continue).',
    }),
  }),
  response: budget,
  errors: ['not_found', 'session_closed', 'team_deleted', 'too_many'],
});

export const removeBudget = endpoint('DELETE /v1/budgets/{budget_id}', {
  summary: 'Remove a budget; turns that it blocked may start',
  params: { budget_id: text('Budget id.') },
  response: budget,
});
