const UNITS_MS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** The milliseconds of a duration such as `10s`, `5m`, `1w` or `1h30m`; null for any other text. */
export function parseDuration(text: string): number | null {
  if (!/^(\d{1,9}(ms|[smhdw]))+$/.test(text)) return null;
  const parts = [...text.matchAll(/(\d+)(ms|[smhdw])/g)].map(
    ([, count, unit = '']) => [Number(count), UNITS_MS[unit] ?? 0] as const,
  );
  // The units become smaller from left to right, and none comes twice.
  const isOrdered = parts.every(([, unit], at) => at === 0 || unit < (parts[at - 1]?.[1] ?? 0));
  return isOrdered ? parts.reduce((sum, [count, unit]) => sum + count * unit, 0) : null;
}
