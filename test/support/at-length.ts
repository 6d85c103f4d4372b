/**
 * How often something is done that chance or a table decides: `short` in the suite, `medium` among the campaigns that each
 * change has to pass (`make campaigns`), `long` in a campaign of its own (`make lengths`).
 */
export function atLength(short: number, long: number, medium = short): number {
  const lengths: Record<string, number> = { long, medium };
  return lengths[process.env.TEST_LENGTH ?? ''] ?? short;
}

/** Whether this is `make lengths`: only there a test may measure time or work of the processor. */
export const isAtLength = process.env.TEST_LENGTH === 'long';

/** Selects one of `share` rows of a table in the suite, and all rows in `make campaigns` and at length. */
export function someOf<T>(table: readonly T[], share: number): T[] {
  return table.filter((_, at) => at % atLength(share, 1, 1) === 0);
}
