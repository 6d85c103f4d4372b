import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../../core/lib/duration.ts';

/**
 * Reads the value of an option that is a time, for commander: the milliseconds of `10s`, `5m` or `1h30m`, or a number
 * of milliseconds. Commander names the option in the error for any other text.
 */
export function milliseconds(text: string): number {
  const time = /^\d{1,10}$/.test(text) ? Number(text) : parseDuration(text);
  if (time !== null) return time;
  throw new InvalidArgumentError(
    'Expected a duration such as 10s, 5m or 1h30m, or a number of milliseconds.',
  );
}
