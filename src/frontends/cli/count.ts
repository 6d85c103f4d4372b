import { InvalidArgumentError } from 'commander';

/** Reads the value of an option that is a count, for commander, which names the option in the error. */
export function count(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number.');
}
