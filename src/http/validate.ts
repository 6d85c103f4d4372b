import { z } from 'zod';
import { AppError } from '../errors.ts';

/** A strict reading of one part of a request. Throws `invalid`, naming the field and what it may be. */
export function validator<T extends z.ZodType>(
  schema: T,
  part: 'body' | 'query',
): (value: unknown) => z.output<T> {
  return (value) => {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    throw new AppError('invalid', explain(result.error, part, schema));
  };
}

/** Turns a query string into typed values, by the types the schema names: the one codec there is. */
export function queryDecoder(
  fields: Record<string, z.ZodType>,
): (query: Record<string, unknown>) => Record<string, unknown> {
  const numeric = new Set(
    Object.keys(fields).filter((name) => takesNumber(fields[name] as z.ZodType)),
  );
  return (query) =>
    Object.fromEntries(
      Object.entries(query).map(([name, value]) => {
        if (Array.isArray(value))
          throw new AppError('invalid', `query: "${name}" is given more than once`);
        return [
          name,
          numeric.has(name) && typeof value === 'string' && /^-?\d+$/.test(value)
            ? Number(value)
            : value,
        ];
      }),
    );
}

function takesNumber(schema: z.ZodType): boolean {
  const described = JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
  return /"type":"(integer|number)"/.test(described);
}

function explain(error: z.ZodError, part: string, schema: z.ZodType): string {
  const [issue] = error.issues;
  if (!issue) return `${part}: not valid`;
  const place = [part, ...issue.path.map(String)].join('.');
  if (issue.code === 'unrecognized_keys') {
    const allowed =
      issue.path.length === 0 && 'shape' in schema ? Object.keys(schema.shape as object) : [];
    const hint = allowed.length > 0 ? `; it takes: ${allowed.join(', ')}` : '; it takes none';
    return `${place}: unknown field "${issue.keys.join('", "')}"${hint}`;
  }
  if (issue.code === 'invalid_union') {
    const inner =
      issue.errors.flat().find((one) => one.code !== 'invalid_type') ?? issue.errors.flat()[0];
    return inner
      ? `${[place, ...inner.path.map(String)].join('.')}: ${lower(inner.message)}`
      : `${place}: not valid`;
  }
  return `${place}: ${lower(issue.message)}`;
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
