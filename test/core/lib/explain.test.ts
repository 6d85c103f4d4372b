import { expect, test } from 'vitest';
import { z } from 'zod';
import { endpoints } from '../../../src/api/index.ts';
import { explain, issueInWords } from '../../../src/core/lib/explain.ts';

test.for<[schema: z.ZodType, value: unknown, said: string]>([
  [z.record(z.string(), z.unknown()), 'x', 'body: has to be an object'],
  [z.strictObject({}), [], 'body: has to be an object'],
  [z.strictObject({ a: z.string() }), {}, 'body.a: is required: a string'],
  [z.strictObject({ a: z.string() }), { a: 1 }, 'body.a: has to be a string'],
  [z.strictObject({ a: z.boolean().nullish() }), { a: 0 }, 'body.a: has to be true or false'],
  [z.int(), 'x', 'body: has to be a whole number'],
  [z.int(), 1.5, 'body: has to be a whole number'],
  [z.int().min(1).max(5), 0, 'body: has to be at least 1'],
  [z.int().min(1).max(5), 6, 'body: has to be at most 5'],
  [z.int().min(1).max(5), 2 ** 53, 'body: has to be at most 5'],
  [
    z.strictObject({ a: z.int().min(0).max(5).nullish() }),
    { a: 2 ** 53 },
    'body.a: has to be at most 5',
  ],
  [z.int().min(1).max(5), -(2 ** 53), 'body: has to be at least 1'],
  [z.int(), 2 ** 53, 'body: has to be at most 9007199254740991'],
  [z.number().positive(), 0, 'body: has to be more than 0'],
  [z.string().min(1), '', 'body: has to have at least 1 character'],
  [z.string().max(2), 'abc', 'body: has to have at most 2 characters'],
  [z.array(z.string()).min(1), [], 'body: has to have at least 1 entry'],
  [z.array(z.string()).max(2), ['a', 'b', 'c'], 'body: has to have at most 2 entries'],
  [z.array(z.string()), ['a', 2], 'body.1: has to be a string'],
  [z.enum(['a', 'b']), 'c', 'body: has to be one of "a", "b"'],
  [z.strictObject({ a: z.enum(['a', 'b']) }), {}, 'body.a: is required: one of "a", "b"'],
  [z.literal('a'), 'b', 'body: has to be "a"'],
  [z.string().regex(/^a$/), 'b', 'body: has to match /^a$/'],
  [z.string().regex(/^a$/, 'is a, and nothing else'), 'b', 'body: is a, and nothing else'],
  [z.base64(), '?', 'body: has to be base64'],
  [z.url(), '?', 'body: has to be a URL'],
  [z.union([z.int(), z.literal('latest')]), 'x', 'body: has to be a whole number or "latest"'],
  [
    z.union([z.array(z.string()), z.union([z.strictObject({}), z.null()])]),
    'x',
    'body: has to be an array or an object or null',
  ],
  [
    z.union([z.strictObject({ type: z.literal('a') }), z.strictObject({ type: z.literal('b') })]),
    { type: 'c' },
    'body.type: has to be one of "a", "b"',
  ],
])('Explanation %#: %j.', ([schema, value, said]) => {
  const { error } = schema.safeParse(value, { error: issueInWords });
  expect(error && explain(error, 'body', schema)).toBe(said);
});

test('No refusal of an endpoint contains a word of the parser, whatever the body.', () => {
  const bodies = Object.values(endpoints).flatMap(({ body }) => (body ? [body as z.ZodType] : []));
  for (const body of bodies) {
    const fields = Object.keys((body as z.ZodObject).shape);
    const wrong = [[], 'x', 1, true, ...wrongFields(fields)];
    for (const value of wrong) {
      const { error } = body.safeParse(value, { error: issueInWords });
      const said = error ? explain(error, 'body', body) : '';
      const words = said.replaceAll(/^body\S*/gm, '');
      expect(words).not.toMatch(/expected|received|invalid|record|too (big|small)/i);
    }
  }
});

/** Returns objects with one field each, whose value most schemas refuse. */
function wrongFields(fields: readonly string[]): object[] {
  return fields.flatMap((field) =>
    [[], {}, 'x', '', -1, 1.5, true, [1], [{}], [{ type: 'image' }]].map((value) => ({
      [field]: value,
    })),
  );
}
