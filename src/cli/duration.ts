const UNITS_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The milliseconds of a duration such as `30s`, `5m`, `2h` or `7d`; null for any other text. */
export function durationOf(text: string): number | null {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return unit === undefined ? null : Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS];
}
