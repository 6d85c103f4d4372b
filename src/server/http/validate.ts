import { z } from 'zod';
import { invalidError, notFoundError } from '../../api/errors.ts';
import { explain, issueInWords } from '../../core/lib/explain.ts';

/** Returns a strict parser for one part of a request. It throws `invalid`, naming the field and its allowed values. */
export function validator<T extends z.ZodType>(
  schema: T,
  part: 'body' | 'query',
): (value: unknown) => z.output<T> {
  return (value) => {
    const result = schema.safeParse(value, { error: issueInWords });
    if (result.success) return result.data;
    throw invalidError(explain(result.error, part, schema));
  };
}

/**
 * Returns a checker for path parameters. It throws `not_found` for a value that its schema excludes, because nothing
 * can have that name.
 */
export function pathChecker(fields: Record<string, z.ZodType>): (params: unknown) => unknown {
  const chosen = Object.entries(fields).filter(([, schema]) => schema instanceof z.ZodEnum);
  return (params) => {
    for (const [name, schema] of chosen) {
      const value = (params as Record<string, unknown>)[name];
      if (schema.safeParse(value).success) continue;
      const values = (schema as z.ZodEnum).options.join(', ');
      throw notFoundError(`unknown ${name} "${String(value)}": expected ${values}`);
    }
    return params;
  };
}

/**
 * Returns a function that converts a query string to typed values by the schema's types; all routes share this codec.
 */
export function queryDecoder(
  fields: Record<string, z.ZodType>,
): (query: Record<string, unknown>) => Record<string, unknown> {
  const numeric = fieldsThat(fields, /"type":"(integer|number)"/);
  const repeated = fieldsThat(fields, /"type":"array"/);
  const truths = fieldsThat(fields, /"type":"boolean"/);
  return (query) =>
    Object.fromEntries(
      Object.entries(query).map(([name, value]) => {
        if (repeated.has(name)) return [name, Array.isArray(value) ? value : [value]];
        if (Array.isArray(value))
          throw invalidError(`query: the parameter "${name}" occurs more than once`);
        if (typeof value !== 'string') return [name, value];
        if (numeric.has(name) && /^-?\d+$/.test(value)) return [name, Number(value)];
        if (truths.has(name) && /^(true|false)$/.test(value)) return [name, value === 'true'];
        return [name, value];
      }),
    );
}

/** Returns the names of the fields whose schema accepts values of a type. */
function fieldsThat(fields: Record<string, z.ZodType>, take: RegExp): Set<string> {
  const named = Object.entries(fields).filter(([, schema]) => take.test(jsonSchemaOf(schema)));
  return new Set(named.map(([name]) => name));
}

/** A cache of the JSON Schema of fields, because making one takes longer than all other work of mounting a route. */
const jsonSchemas = new WeakMap<z.ZodType, string>();

function jsonSchemaOf(schema: z.ZodType): string {
  const cached = jsonSchemas.get(schema);
  if (cached !== undefined) return cached;
  const made = JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
  jsonSchemas.set(schema, made);
  return made;
}
