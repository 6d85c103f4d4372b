import { z } from 'zod';

/** The values of an enum, also of one that may be absent or null or has a default; null for any other schema. */
export function choicesOf(schema: unknown): readonly string[] | null {
  if (schema instanceof z.ZodEnum) return schema.options.map(String);
  return schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault
    ? choicesOf(schema.unwrap())
    : null;
}
