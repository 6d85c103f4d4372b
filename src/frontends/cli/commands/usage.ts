import { endpoints } from '../../../api/index.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { limit } from '../parameters.ts';
import { sinceOf } from '../since.ts';
import { usageNotes, usageTable } from '../usage-text.ts';
import { zoneOf } from '../when.ts';

/** `cadre usage`: what turns have used. */
export const usageCommand = endpointCommand({
  name: 'usage',
  description: 'Show the tokens and cost that sessions used',
  endpoint: endpoints.getUsage,
  options: [
    {
      flags: '--by <what>',
      description: 'Group tokens and cost by this property (default: day)',
      field: 'by',
    },
    {
      flags: '--zone <zone>',
      description:
        'Time zone in which each day starts and ends (default: time zone of this machine)',
      read: (zone: string) => ({ time_zone: zoneOf(zone) }),
      absent: () => Promise.resolve({ time_zone: zoneOf(undefined) }),
    },
    {
      flags: '--since <time>',
      description:
        'Start of the period to show: 7d (7 days ago), 2026-11-01, an ISO time, or all (default: 30 days ago)',
      read: (text: string, { world, fields }) => ({
        since: sinceOf(text, world.clock.now(), String(fields.time_zone)),
      }),
    },
    limit,
  ],
  isList: true,
  print: (report, { layout }) => usageTable(report, layout),
  after(report, { stderr }) {
    for (const note of usageNotes(report)) stderr.write(`cadre: ${note}\n`);
  },
});
