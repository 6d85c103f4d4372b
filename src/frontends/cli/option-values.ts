import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../../core/lib/duration.ts';
import { usageError } from '../../api/errors.ts';

/** Reads the value of an option that is a count, for commander, which names the option in the error. */
export function count(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number.');
}

/**
 * Reads the value of an option that is a duration, for commander: the milliseconds of `10s`, `5m` or `1h30m`. A number without
 * a unit is refused, because some readers take it for seconds. Commander names the option in the error.
 */
export function milliseconds(text: string): number {
  const time = text === '0' ? 0 : parseDuration(text);
  if (time !== null) return time;
  throw new InvalidArgumentError('Expected a duration with a unit, such as 10s, 5m or 1h30m.');
}

/** Reads the value of `--key`, for commander. A suffix is added to it in the header `Idempotency-Key`. */
export function idempotencyKey(text: string): string {
  if (/^[!-~]{1,200}$/.test(text)) return text;
  throw new InvalidArgumentError('Expected 1 to 200 visible ASCII characters.');
}

/** The value of `--metadata`. Throws `usage` where it is not JSON. */
export function parseMetadata(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usageError(`invalid --metadata: expected valid JSON (${(error as Error).message})`);
  }
}
