import { usageError } from '../../api/errors.ts';
import { momentOf, zoneOf } from './when.ts';
import { endpoints } from '../../api/index.ts';
import type { InputItem } from '../../api/input.ts';
import { sessionId } from './find.ts';
import { type TurnSettingOptions, turnSettings } from './turn-settings.ts';
import type { CommandContext } from './command-io.ts';

/** The options for the time and the name of a queue entry. */
export interface TimeOptions {
  at?: string;
  every?: string;
  zone?: string;
  name?: string;
  reason?: string;
  overlap?: 'skip' | 'queue';
}

/** These options of a command. */
export const timeOptions = [
  '--at <time>  Time at which the prompt is sent: 18:00, +2h, or 2026-11-30T08:00 with an optional UTC offset',
  '--every <cron>  Send the prompt on this cron schedule: minute, hour, day of month, month, day of week',
  '--zone <zone>  Time zone for --at and --every (default: time zone of this machine)',
  '--name <name>  Name of the queue entry',
  '--reason <text>  Reason for the queue entry (cadre stores the reason)',
  {
    line: '--overlap <rule>  If the previous run is still active when the next run is due, skip or queue the next run (default: skip, only with --every)',
    choices: ['skip', 'queue'],
  },
];

/** The fields of a request that say when; a time of the day is the next one. Throws `usage`. */
export function timesOf({ at, every, zone }: TimeOptions, now: number) {
  if (at !== undefined && every !== undefined)
    throw usageError('pass either --at or --every, not both');
  if (at === undefined && every === undefined)
    return zone === undefined ? {} : { time_zone: zoneOf(zone) };
  const time_zone = zoneOf(zone);
  if (every !== undefined) return { every, time_zone };
  return { at: momentOf(at ?? '', now, time_zone), time_zone };
}

/** Adds a prompt to the queue of the session that `reference` names, and says when it is due. */
export async function addToQueue(
  { client, io, show }: CommandContext,
  reference: string,
  input: InputItem[],
  options: TimeOptions & TurnSettingOptions,
): Promise<void> {
  const { entryStateText } = await import('./queue-text.ts');
  const now = io.clock.now();
  const params = { session_id: await sessionId(client, reference) };
  if (options.permissionMode !== undefined) {
    const session = await client.call(endpoints.getSession, { params });
    const { assertPermissionMode } = await import('./session/assert-mode.ts');
    await assertPermissionMode({ client }, session, options.permissionMode);
  }
  const { name, reason, overlap } = options;
  const added = await client.call(endpoints.addToQueue, {
    params,
    body: { input, ...timesOf(options, now), name, reason, overlap, ...turnSettings(options) },
  });
  show(added, () => entryStateText(added, now));
}
