const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const;

/** The time since something, in milliseconds, in its largest unit, rounded down: `5m`. For a column of a table. */
export function ago(ms: number): string {
  return parts(ms)[0] ?? '0s';
}

/** A length of time, in milliseconds, in its two largest units: `1h 3m`; below a second in milliseconds: `250ms`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  return parts(ms).slice(0, 2).join(' ');
}

/** The parts of a time that are not 0, from the first one; the second part is left out where it is 0. */
function parts(ms: number): string[] {
  let rest = Math.max(0, Math.floor(ms / 1000));
  const all = UNITS.map(([unit, seconds]) => {
    const count = Math.floor(rest / seconds);
    rest -= count * seconds;
    return { count, text: `${count}${unit}` };
  });
  const first = all.findIndex(({ count }) => count > 0);
  if (first < 0) return [];
  return all
    .slice(first, first + 2)
    .filter(({ count }) => count > 0)
    .map(({ text }) => text);
}
