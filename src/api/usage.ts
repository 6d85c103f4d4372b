import { z } from 'zod';
import { component, nullableText, requestedTime, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { providerId } from './provider-kinds.ts';

export const usageBy = z.enum(['session', 'team', 'provider', 'day']).meta({
  description:
    'Grouping of turns. A turn counts for the day on which it ended, and for every team that its session belonged to at that time.',
});

export const timeZoneName = z.string().max(100).meta({
  description: 'Time zone of the IANA database, such as Europe/Berlin.',
});

const tokens = (which: string) =>
  z.number().nullable().describe(`${which}. Null if no turn reports them.`);

const sums = {
  turns: z
    .int()
    .describe('Number of ended turns that were sent to an agent. Running turns are not counted.'),
  input_tokens: tokens('Input tokens, without cached ones'),
  output_tokens: tokens('Output tokens'),
  cached_input_tokens: tokens('Cached input tokens'),
  total_tokens: tokens('All tokens, as the provider counts them'),
  cost_usd: z.number().nullable().describe('Cost in US dollars. Null if no turn reports a cost.'),
  turns_without_tokens: z
    .int()
    .describe('Number of turns without known tokens. Their tokens are missing from the sums.'),
  turns_without_cost: z.int().describe('Number of turns without a known cost.'),
};

export const usageSums = component('UsageSums', 'Usage of a number of turns.', sums);

export const usageRow = component(
  'UsageRow',
  'Usage of the turns of a session, team, provider or day.',
  {
    key: nullableText(
      'Id of the session or team, the provider, or the day (2026-11-22). Null for turns of sessions that belong to no team.',
    ),
    name: nullableText('Title of the session or name of the team. Null without a title or name.'),
    provider: providerId
      .nullable()
      .describe('Provider. Null unless turns are grouped by session or provider.'),
    agent: nullableText('Name of the agent. Null if the provider has no named agents.'),
    ...sums,
  },
);
export type UsageRow = z.output<typeof usageRow>;

export const usageReport = component('UsageReport', 'Usage of the turns of a period.', {
  by: usageBy,
  since: timestamp.describe(
    'Start of the period (Unix ms, inclusive). The report covers turns that ended in the period.',
  ),
  until: timestamp.describe('End of the period (Unix ms, exclusive).'),
  time_zone: timeZoneName.describe('Time zone in which days start.'),
  rows: z
    .array(usageRow)
    .describe('Rows. Days are ordered newest first, other rows by tokens, largest first.'),
  left_out: z.int().describe('Number of rows left out because of `limit`.'),
  total: usageSums.describe('Usage of all turns, each counted once.'),
});
export type UsageReport = z.output<typeof usageReport>;

export const getUsage = endpoint('GET /v1/usage', {
  summary: 'Get the usage of turns by session, team, provider or day',
  query: {
    by: usageBy.default('day'),
    since: requestedTime.optional().meta({
      description:
        'Start of the period (Unix ms, inclusive). Default: the start of the day 29 days ago.',
    }),
    until: requestedTime
      .optional()
      .describe('End of the period (Unix ms, exclusive). Default: now.'),
    time_zone: timeZoneName
      .optional()
      .describe('Time zone in which days start. Default: the time zone of the server.'),
    limit: z.int().min(1).max(1000).default(100).describe('Maximum number of rows.'),
  },
  response: usageReport,
});
