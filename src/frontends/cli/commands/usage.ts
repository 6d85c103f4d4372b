import { endpoints } from '../../../api/index.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { limit } from '../parameters.ts';
import { sinceOf } from '../since.ts';
import { usageNotes, usageTable } from '../usage-text.ts';
import { zoneOf } from '../when.ts';

/** `cadre usage`: what turns have used. */
export const usageCommand = endpointCommand({
  name: 'usage',
  description: 'what turns have used: tokens and cost, by session, team, provider or day',
  endpoint: endpoints.getUsage,
  options: [
    { flags: '--by <what>', description: 'what it is summed by (default: day)', field: 'by' },
    {
      flags: '--zone <zone>',
      description: 'the time zone of days (default: that of this machine)',
      read: (zone: string) => ({ time_zone: zoneOf(zone) }),
      absent: () => Promise.resolve({ time_zone: zoneOf(undefined) }),
    },
    {
      flags: '--since <time>',
      description: '7d, 2026-11-01, an ISO time, or all (default: 30 days)',
      read: (text: string, { world, fields }) => ({
        since: sinceOf(text, world.clock.now(), String(fields.time_zone)),
      }),
    },
    limit,
  ],
  print: (report, { layout }) => usageTable(report, layout),
  after(report, { stderr }) {
    for (const note of usageNotes(report)) stderr.write(`cadre: ${note}\n`);
  },
});
