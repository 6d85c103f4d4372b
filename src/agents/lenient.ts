import { z } from 'zod';

/** So many entries of a list are read: some agents offer thousands of models. */
const MAX_ENTRIES = 10_000;

/** An array without the entries that do not match the schema, and without those beyond the first `max`. */
export function arrayOf<T extends z.ZodType>(entry: T, max = MAX_ENTRIES) {
  return z.array(z.unknown()).transform((entries) =>
    entries.slice(0, max).flatMap((one): z.output<T>[] => {
      const { data } = entry.safeParse(one);
      return data === undefined ? [] : [data];
    }),
  );
}

/** Returns the value of a field of a foreign value, or undefined. It costs less than a schema that does not match. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
