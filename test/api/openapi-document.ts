import { z } from 'zod';

const schema = z.record(z.string(), z.unknown());
const reference = z.strictObject({ $ref: z.string() });
const header = z.strictObject({
  description: z.string(),
  required: z.boolean().optional(),
  schema,
});
const content = z.record(z.string().regex(/^[a-z]+\/[a-z-]+$/), z.strictObject({ schema }));
const parameter = z.strictObject({
  name: z.string(),
  in: z.enum(['path', 'query', 'header']),
  required: z.boolean().optional(),
  description: z.string().optional(),
  schema,
});
const answer = z.strictObject({
  description: z.string(),
  headers: z.record(z.string(), z.union([header, reference])).optional(),
  content: content.optional(),
});
const requirement = z.record(z.string(), z.array(z.string()));
const operation = z.strictObject({
  operationId: z.string(),
  tags: z.array(z.string()),
  summary: z.string(),
  security: z.array(requirement).optional(),
  parameters: z.array(z.union([parameter, reference])),
  requestBody: z.strictObject({ required: z.boolean(), content }).optional(),
  responses: z.record(z.string().regex(/^[1-5]\d\d$/), z.union([answer, reference])),
});
const named = <T extends z.ZodType>(part: T) => z.record(z.string().regex(/^[\w.-]+$/), part);

/** The parts of OpenAPI that our document uses. All other fields are refused. */
export const openApi = z.strictObject({
  openapi: z.string().regex(/^3\.1\.\d+$/),
  info: z.strictObject({
    title: z.string(),
    version: z.string(),
    description: z.string(),
    license: z.strictObject({ name: z.string(), identifier: z.string() }),
  }),
  servers: z.array(z.strictObject({ url: z.string(), description: z.string() })),
  security: z.array(requirement),
  tags: z.array(z.strictObject({ name: z.string(), description: z.string() })),
  paths: z.record(
    z.string().startsWith('/'),
    z.partialRecord(z.enum(['get', 'post', 'patch', 'delete']), operation),
  ),
  components: z.strictObject({
    securitySchemes: named(z.strictObject({ type: z.literal('http'), scheme: z.string() })),
    parameters: named(parameter),
    headers: named(header),
    responses: named(answer),
    schemas: named(schema),
  }),
});
