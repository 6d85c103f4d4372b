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

/** A field that is null if it is missing or cannot be read. */
export function maybe<T extends z.ZodType>(field: T) {
  return field
    .nullish()
    .catch(null)
    .transform((value) => value ?? null);
}

export const maybeText = maybe(z.string());

/** An id that is only compared and shown. Some agents send numbers. */
export const idText = z.union([z.string(), z.number().transform(String)]);

/** A list that is empty if it is missing or cannot be read. */
export const anyList = z.array(z.unknown()).catch([]);

/** Reports whether a foreign value has fields or entries. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Returns the value of a field of a foreign value, or undefined. It costs less than a schema that does not match. */
export function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** Reports whether a foreign value says nothing: a missing value, a blank text, or a record or list without entries. */
export function isBlank(value: unknown): boolean {
  if (isObject(value)) return Object.keys(value).length === 0;
  return (
    value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
  );
}

/** The texts of a list of content parts, one a line, with the type of each other part; null if there is no content. */
export function partsText(content: unknown): string | null {
  if (content === undefined || content === null) return null;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return JSON.stringify(content);
  return content.map(partText).join('\n');
}

function partText(part: unknown): string {
  const [text, type] = [fieldOf(part, 'text'), fieldOf(part, 'type')];
  return typeof text === 'string' ? text : `[${typeof type === 'string' ? type : 'something'}]`;
}
