import { z } from 'zod';
import { requestedTime, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { providerId } from './provider-kinds.ts';

export const usageBy = z
  .enum(['session', 'team', 'provider', 'day'])
  .describe(
    'What turns are summed by. A turn counts for the day on which it ended, and for every team that its session was in then.',
  );

export const timeZoneName = z
  .string()
  .max(100)
  .describe('A time zone of the IANA database, such as Europe/Berlin.');

const tokens = (which: string) =>
  z.number().nullable().describe(`${which}; null: no turn reports them.`);

const sums = {
  turns: z
    .int()
    .describe(
      'The turns that an agent has seen and that have ended; a running one is not counted.',
    ),
  input_tokens: tokens('Input tokens, without those from a cache'),
  output_tokens: tokens('Output tokens'),
  cached_input_tokens: tokens('Input tokens from a cache'),
  total_tokens: tokens('All tokens, as the provider counts them'),
  cost_usd: z.number().nullable().describe('In US dollars; null: no turn reports a cost.'),
  turns_without_tokens: z
    .int()
    .describe('The turns of which no tokens are known: the sums are too low by what these used.'),
  turns_without_cost: z.int().describe('The turns of which no cost is known.'),
};

export const usageSums = z
  .looseObject(sums)
  .meta({ id: 'UsageSums', description: 'What some turns have used.' });

export const usageRow = z
  .looseObject({
    key: z
      .string()
      .nullable()
      .describe(
        'The id of the session or team, the provider, or the day (2026-11-22); null: turns of sessions in no team.',
      ),
    name: z.string().nullable().describe('The title of the session, or the name of the team.'),
    provider: providerId.nullable().describe('By session or provider; else null.'),
    agent: z.string().nullable().describe('The name of the agent, where the provider has names.'),
    ...sums,
  })
  .meta({
    id: 'UsageRow',
    description: 'What the turns of a session, team, provider or day used.',
  });
export type UsageRow = z.output<typeof usageRow>;

export const usageReport = z
  .looseObject({
    by: usageBy,
    since: timestamp.describe('The turns that ended from here on.'),
    until: timestamp.describe('The turns that ended before this.'),
    time_zone: timeZoneName.describe('The one in which days begin.'),
    rows: z
      .array(usageRow)
      .describe('Days: the newest first. Others: the one with the most tokens first.'),
    left_out: z.int().describe('How many rows more there are than `limit`.'),
    total: usageSums.describe('Of all turns, each counted once.'),
  })
  .meta({ id: 'UsageReport', description: 'What turns have used.' });
export type UsageReport = z.output<typeof usageReport>;

export const getUsage = endpoint({
  method: 'GET',
  path: '/v1/usage',
  summary: 'What turns have used, by session, team, provider or day',
  query: {
    by: usageBy.default('day'),
    since: requestedTime
      .optional()
      .describe('Turns that ended from here on; absent: since the begin of the day 29 days ago.'),
    until: requestedTime.optional().describe('Turns that ended before this; absent: up to now.'),
    time_zone: timeZoneName.optional().describe("In which days begin; absent: the server's."),
    limit: z.int().min(1).max(1000).default(100).describe('The maximum number of rows.'),
  },
  response: usageReport,
});
