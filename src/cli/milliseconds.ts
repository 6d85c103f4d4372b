import { AppError } from '../errors.ts';

/** A number of milliseconds, as an option takes it. Throws `usage` for any other text. */
export function milliseconds(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new AppError('usage', `"${text}" is no number of milliseconds`);
}
