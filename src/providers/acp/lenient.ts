import { z } from 'zod';

/** An array without the entries that do not match the schema. */
export function arrayOf<T extends z.ZodType>(entry: T) {
  return z.array(z.unknown()).transform((entries) =>
    entries.flatMap((one): z.output<T>[] => {
      const { data } = entry.safeParse(one);
      return data === undefined ? [] : [data];
    }),
  );
}
