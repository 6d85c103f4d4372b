import { z } from 'zod';
import { pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { timeZoneName } from './usage.ts';

/** The maximum number of budgets. */
export const MAX_BUDGETS = 1000;

export const budgetPer = z
  .enum(['total', 'day'])
  .describe(
    'total: all turns, also those from before the budget was set. day: those that end on one day of its time zone; each day begins anew.',
  );

const limits = {
  tokens: z.number().nullable().describe('All tokens, as providers count them; null: no limit.'),
  cost_usd: z.number().nullable().describe('In US dollars; null: no limit.'),
  turns: z.number().nullable().describe('Turns; null: no limit.'),
};
const budgetAmounts = z
  .looseObject(limits)
  .meta({ id: 'BudgetAmounts', description: 'What a budget limits.' });
export type BudgetAmounts = z.output<typeof budgetAmounts>;

const spent = z
  .looseObject({
    tokens: z.number(),
    cost_usd: z.number(),
    turns: z.int(),
    turns_without_tokens: z
      .int()
      .describe('The turns of which no tokens are known: what they used is not counted.'),
    turns_without_cost: z.int().describe('The turns of which no cost is known.'),
  })
  .meta({ id: 'BudgetSpent', description: 'What the turns of a budget have used.' });

export const budgetStatus = z
  .enum(['open', 'reached', 'declined'])
  .describe(
    'open: turns may begin. reached: none may, and its approval asks whether it goes on. declined: none may, until the budget is set anew, is removed, or its next day begins.',
  );

export const budget = z
  .looseObject({
    id: z.string(),
    session_id: z.string().nullable().describe('The session it is for; null: a team or all.'),
    team_id: z
      .string()
      .nullable()
      .describe('The team it is for; null, without a session: all sessions together.'),
    per: budgetPer,
    time_zone: timeZoneName.nullable().describe('In which its days begin; null: it has no days.'),
    limit: budgetAmounts.describe('What was set.'),
    allowed: budgetAmounts.describe(
      'What may be used now: `limit`, and after each acceptance what was spent until then and `limit` once more. A new day begins with `limit`.',
    ),
    spent: spent.describe('What has been used: in all, or on its day.'),
    hard: z
      .boolean()
      .describe('Whether running turns are interrupted when it is reached; else they go on.'),
    status: budgetStatus,
    reached_at: timestamp.nullable(),
    approval_id: z
      .string()
      .nullable()
      .describe('The approval that asks, or was declined; null: there is none.'),
    approval_session_id: z.string().nullable().describe('The session of that approval.'),
    day_begins_at: timestamp.nullable().describe('When the day began that `spent` is of.'),
    day_ends_at: timestamp.nullable().describe('When the next one begins.'),
    created_by: z.string().describe('The id of the token of the request that set it last.'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({
    id: 'Budget',
    description: 'How much the turns of a session, a team or all sessions may use.',
  });
export type Budget = z.output<typeof budget>;

const most = 1e15;
const count = z.int().positive().max(most).nullish();
/** The least that a budget can be in US dollars: costs that differ by less count as equal. */
const LEAST_USD = 1e-6;
const cost = z.number().min(LEAST_USD).max(most).nullish();

export const listBudgets = endpoint({
  method: 'GET',
  path: '/v1/budgets',
  summary: 'The budgets, newest first',
  query: {
    session_id: z.string().optional().describe('Only those of this session.'),
    team_id: z.string().optional().describe('Only those of this team.'),
    ...pageQuery,
  },
  response: z.array(budget),
});

export const getBudget = endpoint({
  method: 'GET',
  path: '/v1/budgets/{budget_id}',
  summary: 'One budget',
  params: { budget_id: z.string().describe('The budget.') },
  response: budget,
  errors: ['not_found'],
});

export const setBudget = endpoint({
  method: 'POST',
  path: '/v1/budgets',
  summary:
    'Set the budget of a session, of a team, or of all sessions; one that is there already is replaced',
  body: z.strictObject({
    session_id: z.string().nullish().describe('The session it is for.'),
    team_id: z.string().nullish().describe('The team it is for; neither: all sessions together.'),
    per: budgetPer
      .nullish()
      .describe(
        'Absent: total for a session or a team, day for all sessions, which have a budget a day only.',
      ),
    time_zone: timeZoneName.nullish().describe("Of days; absent: the server's."),
    tokens: count.describe('The tokens that may be used.'),
    cost_usd: cost.describe('The US dollars that may be used.'),
    turns: count.describe('The turns that may be taken.'),
    hard: z
      .boolean()
      .nullish()
      .describe('Whether running turns are interrupted when it is reached; absent: they go on.'),
  }),
  response: budget,
  errors: ['not_found', 'session_closed', 'team_deleted', 'too_many'],
});

export const removeBudget = endpoint({
  method: 'DELETE',
  path: '/v1/budgets/{budget_id}',
  summary: 'Remove a budget; what it has held goes on',
  params: { budget_id: z.string().describe('The budget.') },
  response: budget,
  errors: ['not_found'],
});
