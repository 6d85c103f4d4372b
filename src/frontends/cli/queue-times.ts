import { type Command, Option } from 'commander';
import { AppError } from '../../api/errors.ts';
import { momentOf, zoneOf } from './when.ts';

/** When something is due, and what it is called. */
export interface TimeOptions {
  at?: string;
  every?: string;
  zone?: string;
  name?: string;
  reason?: string;
  overlap?: 'skip' | 'queue';
}

/** Adds the options of `TimeOptions` to a command. */
export function withTimes(command: Command): Command {
  return command
    .option('--at <time>', 'when it is due: 18:00, +2h, 2026-11-30T08:00, or with an offset')
    .option('--every <cron>', 'again and again: minute, hour, day of month, month, day of week')
    .option('--zone <zone>', 'the time zone of --at or --every (default: that of this machine)')
    .option('--name <name>', 'what people call it')
    .option('--reason <text>', 'why, for the record')
    .addOption(
      new Option(
        '--overlap <rule>',
        'with --every, where the run before has not ended: skip this one, or queue it behind',
      ).choices(['skip', 'queue']),
    );
}

/** The fields of a request that say when; a time of the day is the next one. Throws `usage`. */
export function timesOf({ at, every, zone }: TimeOptions, now: number) {
  if (at !== undefined && every !== undefined)
    throw new AppError('usage', 'give one of --at and --every');
  if (at === undefined && every === undefined)
    return zone === undefined ? {} : { time_zone: zoneOf(zone) };
  const time_zone = zoneOf(zone);
  if (every !== undefined) return { every, time_zone };
  return { at: momentOf(at ?? '', now, time_zone), time_zone };
}
