/** The longest day of any time zone, in ms: clocks that are set back by some hours, with room. */
const LONGEST_MS = 30 * 3_600_000;

const formatters = new Map<string, Intl.DateTimeFormat>();

/** The day of a moment (Unix ms) in a time zone of the IANA database, such as `2026-11-22`. */
export function dayOf(moment: number, timeZone: string): string {
  let formatter = formatters.get(timeZone);
  if (!formatter) {
    const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
    formatter = new Intl.DateTimeFormat('en-CA', { timeZone, calendar: 'gregory', ...parts });
    formatters.set(timeZone, formatter);
  }
  return formatter.format(moment);
}

/** The first moment (Unix ms) of the day of a moment: midnight, or the first time that the zone has after it. */
export function startOfDay(moment: number, timeZone: string): number {
  const day = dayOf(moment, timeZone);
  return turnOf(moment - LONGEST_MS, moment, (at) => dayOf(at, timeZone) === day);
}

/** Returns the first moment (Unix ms) of the day after a moment. */
export function endOfDay(moment: number, timeZone: string): number {
  const day = dayOf(moment, timeZone);
  return turnOf(moment, moment + LONGEST_MS, (at) => dayOf(at, timeZone) !== day);
}

/** The first moment after `before` at which something holds that does not hold at `before`, and does at `after`. */
function turnOf(before: number, after: number, holds: (at: number) => boolean): number {
  let [low, high] = [before, after];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}
