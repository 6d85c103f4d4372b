import { stringify } from 'yaml';
import { z } from 'zod';
import { errorBody } from './common.ts';
import type { Endpoint } from './endpoint.ts';
import { endpoints } from './index.ts';

/** The description of the interface as YAML, made from the endpoint table. */
export function openApiYaml(version: string): string {
  const components: Record<string, unknown> = {};
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, endpoint] of Object.entries(endpoints as Record<string, Endpoint>)) {
    (paths[endpoint.path] ??= {})[endpoint.method.toLowerCase()] = operation(
      name,
      endpoint,
      components,
    );
  }
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'cadre',
      version,
      description:
        'Runs teams of coding agents on one machine. When this disagrees with the server, the server is right.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries(
        Object.entries(components).toSorted(([a], [b]) => a.localeCompare(b)),
      ),
    },
  };
  return stringify(document, { lineWidth: 110, aliasDuplicateObjects: false });
}

function operation(name: string, endpoint: Endpoint, components: Record<string, unknown>): object {
  const { summary, access, params, query, body, response, answers } = endpoint;
  const describe = (schema: z.ZodType, io: 'input' | 'output') => schemaOf(schema, io, components);
  const parameters = [
    ...Object.entries(params).map(([key, schema]) => ({
      name: key,
      in: 'path',
      required: true,
      schema: describe(schema, 'input'),
    })),
    ...Object.entries(query).map(([key, schema]) => ({
      name: key,
      in: 'query',
      required: false,
      schema: describe(schema, 'input'),
    })),
    ...(answers === 'stream'
      ? [{ name: 'Last-Event-ID', in: 'header', required: false, schema: { type: 'string' } }]
      : []),
  ];
  const contentType = {
    json: 'application/json',
    stream: 'text/event-stream',
    text: 'application/yaml',
  }[answers];
  const content = {
    [contentType]: {
      schema: answers === 'text' ? { type: 'string' } : describe(response, 'output'),
    },
  };
  return {
    operationId: name,
    summary,
    ...(access === 'public' ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: describe(body, 'input') } },
          },
        }
      : {}),
    responses: {
      200: {
        description: answers === 'stream' ? 'Events; the data of each is one record.' : 'Done.',
        content,
      },
      default: {
        description: `Refused${endpoint.errors.length > 0 ? `; beside the usual codes: ${endpoint.errors.join(', ')}` : ''}.`,
        content: { 'application/json': { schema: describe(errorBody, 'output') } },
      },
    },
  };
}

/** The schema as JSON Schema; what has an id becomes a component and is referred to. */
function schemaOf(
  schema: z.ZodType,
  io: 'input' | 'output',
  components: Record<string, unknown>,
): object {
  const {
    $schema: _,
    $defs: defs,
    ...own
  } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'throw',
    override({ jsonSchema }) {
      // An input that has a default may be left out; a loose object says so by itself.
      if (jsonSchema.$schema) delete jsonSchema.$schema;
    },
  }) as Record<string, unknown> & { $defs?: Record<string, unknown> };
  const text = (value: unknown) =>
    JSON.stringify(value).replaceAll('#/$defs/', '#/components/schemas/');
  for (const [id, described] of Object.entries(defs ?? {})) {
    const { id: _id, ...rest } = described as Record<string, unknown>;
    components[id] ??= JSON.parse(text(rest));
  }
  if (typeof own.id === 'string') {
    const { id, ...rest } = own;
    components[id] ??= JSON.parse(text(rest));
    return { $ref: `#/components/schemas/${id}` };
  }
  return JSON.parse(text(own)) as object;
}
