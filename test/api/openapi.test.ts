import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import type { Endpoint } from '../../src/api/endpoint.ts';
import { openApiYaml } from '../../scripts/openapi/document.ts';
import { unreadRefusals } from '../../src/api/refusals.ts';
import { AppError, type ErrorCode } from '../../src/api/errors.ts';
import { errorReply } from '../../src/server/http/errors.ts';
import { version } from '../../src/core/lib/self.ts';
import { testRuntime } from '../support/runtime.ts';
import { openApi } from './openapi-document.ts';
import { send, table } from '../support/http/request.ts';

const file = readFileSync(new URL('../../src/api/openapi.yaml', import.meta.url), 'utf8');

type Schema = Record<string, unknown>;
interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description: string;
  schema: Schema;
}
interface Answer {
  description: string;
  headers: Record<string, { $ref: string }>;
  content?: Record<string, { schema: Schema }>;
}
interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  security?: object[];
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, Answer>;
}
const document = parse(file) as {
  openapi: string;
  info: { title: string; version: string };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    headers: Record<string, object>;
    securitySchemes: object;
  };
  security: object[];
};
/** Every operation with its endpoint, and with resolved parameters and answers. */
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, written]) => {
    const request = `${method.toUpperCase()} ${path}`;
    const endpoint = table.find((one) => one.request === request)?.endpoint as Endpoint;
    const operation: Operation = {
      ...written,
      parameters: written.parameters.map((one) => resolved(one)),
      responses: Object.fromEntries(
        Object.entries(written.responses).map(([status, answer]) => [status, resolved(answer)]),
      ),
    };
    return { path, method, request, endpoint, operation };
  }),
);

test('openapi.yaml is current: run make openapi after a change to the endpoint table.', () => {
  expect(file).toBe(openApiYaml(version));
});

test('The server returns openapi.yaml without a token.', async () => {
  const { url } = await testRuntime();
  const reply = await send(url, { path: '/openapi.yaml' });
  expect(reply.status).toBe(200);
  expect(reply.headers['content-type']).toBe('application/yaml; charset=utf-8');
  expect(reply.text).toBe(file);
});

test('openapi.yaml is OpenAPI 3.1 with a name, a version and the bearer scheme.', () => {
  expect(document.openapi).toMatch(/^3\.1\.\d+$/);
  expect(document.info).toMatchObject({ title: 'cadre', version });
  expect(document.components.securitySchemes).toEqual({
    token: { type: 'http', scheme: 'bearer' },
  });
  expect(document.security).toEqual([{ token: [] }]);
});

test('openapi.yaml has every endpoint under its method and path, and nothing else.', () => {
  expect(
    operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`).toSorted(),
  ).toEqual(table.map(({ request }) => request).toSorted());
});

test('openapi.yaml is valid OpenAPI 3.1 without unknown fields.', () => {
  expect(openApi.safeParse(document).error?.issues ?? []).toEqual([]);
});

test('openapi.yaml gives each operation a unique id, a summary and a described tag.', () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const tags = document.tags.map(({ name }) => name);
  for (const { operation } of operations) {
    expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/);
    expect(operation.summary).not.toBe('');
    expect(operation.tags).toHaveLength(1);
    expect(tags).toContain(operation.tags[0]);
  }
  for (const tag of tags)
    expect(operations.map(({ operation }) => operation.tags[0])).toContain(tag);
});

test('openapi.yaml describes each parameter, and requires the parameters of the path.', () => {
  for (const { path, operation } of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const named = operation.parameters.filter((one) => one.in === 'path');
    expect(named.map(({ name }) => name)).toEqual(inPath);
    expect(named.every(({ required }) => required)).toBe(true);
    const places = operation.parameters.map((one) => `${one.in} ${one.name}`);
    expect(new Set(places).size).toBe(places.length);
    for (const { name, description } of operation.parameters)
      expect([path, name, description]).toEqual([path, name, expect.stringMatching(/\.$/)]);
  }
});

test('openapi.yaml describes every answer: one success with its body, and refusals with their codes.', () => {
  for (const { request, endpoint, operation } of operations) {
    const [success, ...refusals] = Object.entries(operation.responses);
    expect([request, success?.[0]]).toEqual([request, String(endpoint.status)]);
    expect(Object.keys(success?.[1].content ?? {})).toHaveLength(endpoint.status === 204 ? 0 : 1);
    for (const [status, { description, content }] of refusals) {
      const codes = codesIn(description);
      expect(codes).not.toEqual([]);
      if (status in unreadRefusals) continue;
      for (const code of codes)
        expect([code, statusOf(code, endpoint)]).toEqual([code, Number(status)]);
      expect(Object.keys(content ?? {})).toEqual(['application/json']);
    }
    const described = refusals.flatMap(([, { description }]) => codesIn(description));
    expect(described).toEqual(expect.arrayContaining(['invalid', 'internal', ...endpoint.errors]));
  }
});

test('Every operation describes the refusals of a slow request (408) and a long URL (431).', () => {
  for (const { request, operation } of operations) {
    for (const status of ['408', '431']) {
      const { description, content } = operation.responses[status] ?? {};
      expect([request, codesIn(description ?? '')]).toEqual([request, ['invalid']]);
      expect(Object.keys(content ?? {})).toEqual(['application/json']);
    }
  }
});

test('openapi.yaml lists the headers of pages, replays and repeated requests.', () => {
  const headersOf = (id: string, status = '200') =>
    Object.keys(
      operations.find(({ operation }) => operation.operationId === id)?.operation.responses[status]
        ?.headers ?? {},
    );
  expect(headersOf('getVersion')).toEqual(['X-Request-Id', 'X-Epoch', 'X-Seq']);
  expect(headersOf('listTurns')).toEqual(['X-Request-Id', 'X-Epoch', 'X-Seq', 'X-Next-Cursor']);
  expect(headersOf('replayEvents').slice(3)).toEqual(['X-Next-After-Seq', 'X-Trimmed-Seq']);
  expect(headersOf('createSession')).toEqual(['X-Request-Id', 'X-Epoch', 'Idempotency-Replayed']);
  expect(headersOf('createToken')).toEqual(['X-Request-Id', 'X-Epoch']);
  expect(headersOf('sendTurn', '409')).toEqual(['X-Request-Id', 'Idempotency-Replayed']);
});

test('openapi.yaml accepts an Idempotency-Key for each POST that returns no secret and has no invocation_id.', () => {
  for (const { request, endpoint, operation } of operations) {
    const takes = operation.parameters.some(({ name }) => name === 'Idempotency-Key');
    const { method, secret, access } = endpoint;
    const should = method === 'POST' && !secret && access !== 'gateway';
    expect([request, takes]).toEqual([request, should]);
  }
});

test('openapi.yaml makes a body optional exactly if {} is a valid body.', () => {
  for (const { request, endpoint, operation } of operations) {
    const mayBeEmpty = endpoint.body?.safeParse({}).success;
    const required = endpoint.body ? !mayBeEmpty : undefined;
    expect([request, operation.requestBody?.required]).toEqual([request, required]);
  }
});

test('openapi.yaml describes the frames of a stream.', () => {
  const streams = operations.filter(({ endpoint }) => endpoint.answers === 'stream');
  expect(streams.length).toBeGreaterThan(1);
  for (const { endpoint, operation } of streams) {
    const { schema = {} } = operation.responses['200']?.content?.['text/event-stream'] ?? {};
    expect(schema).toMatchObject({ type: 'string', contentMediaType: 'text/event-stream' });
    const { items } = schema.contentSchema as { items: { anyOf: { properties: Schema }[] } };
    const [record, ...others] = items.anyOf;
    expect(Object.keys(record?.properties ?? {})).toEqual(['id', 'event', 'data']);
    expect(others.map(({ properties }) => properties.event)).toEqual(
      Object.keys(endpoint.frames).map((event) => ({ const: event })),
    );
    expect(operation.parameters.map(({ name }) => name)).toContain('Last-Event-ID');
  }
});

test('openapi.yaml marks the routes that need no token.', () => {
  const open = operations.filter(({ operation }) => operation.security?.length === 0);
  expect(open.map(({ path }) => path)).toEqual(['/health', '/openapi.yaml']);
});

test('openapi.yaml resolves every $ref, uses every component, and has no $defs or $schema.', () => {
  const refs = new Set<string>();
  walk(document, ({ $ref }) => void (typeof $ref === 'string' && refs.add($ref)));
  for (const ref of refs) expect([ref, typeof at(ref)]).toEqual([ref, 'object']);
  const { securitySchemes: _, ...kinds } = document.components;
  const names = Object.entries(kinds).flatMap(([kind, named]) =>
    Object.keys(named).map((name) => `#/components/${kind}/${name}`),
  );
  expect(names.toSorted()).toEqual([...refs].toSorted());
  expect(file).not.toMatch(/\$defs|\$schema/);
});

test('openapi.yaml describes each of its schemas.', () => {
  for (const [name, { description }] of Object.entries(document.components.schemas))
    expect([name, description]).toEqual([name, expect.stringMatching(/\.$/)]);
});

test('Each schema is valid JSON Schema in the dialect of OpenAPI 3.1, without unknown keywords.', () => {
  // Each schema is validated once below and never run, so references need no code of their own.
  const fast = { validateSchema: false, inlineRefs: false, code: { optimize: false } } as const;
  const compiler = new Ajv2020({ strictSchema: true, allowUnionTypes: true, formats, ...fast });
  // The only keyword that OpenAPI adds; the implementation of ajv accepts no $ref in it.
  compiler.addVocabulary(['components', 'discriminator']);
  compiler.addSchema({ components: document.components }, 'openapi.yaml');
  for (const name of Object.keys(document.components.schemas))
    expect(compiler.getSchema(`openapi.yaml#/components/schemas/${name}`)).toBeTypeOf('function');
  for (const schema of allSchemas()) expect(compiler.validateSchema(schema)).toBe(true);
  for (const schema of schemasOfOperations()) {
    const absolute = JSON.stringify(schema).replaceAll('"#/', '"openapi.yaml#/');
    expect(compiler.compile(JSON.parse(absolute) as object)).toBeTypeOf('function');
  }
});

test('openapi.yaml refuses unknown fields in a request and allows them in an answer.', () => {
  for (const { operation } of operations) {
    const body = operation.requestBody?.content['application/json']?.schema;
    if (body) expect(resolved(body)).toMatchObject({ type: 'object', additionalProperties: false });
  }
  expect(document.components.schemas.Session).toMatchObject({ additionalProperties: {} });
  expect(document.components.schemas.Error).toMatchObject({ required: ['error', 'code'] });
});

test('openapi.yaml names its own server first, so that a client does not call another server.', () => {
  expect(document.servers.map(({ url }) => url)).toEqual(['/', 'http://127.0.0.1:7433']);
});

test('openapi.yaml names each body, answer and alternative with fields, for code generators.', () => {
  const hasFields = (schema: Schema) => Object.keys(schema.properties ?? {}).length > 0;
  for (const { request, operation } of operations) {
    const body = operation.requestBody?.content['application/json']?.schema ?? {};
    const answer = operation.responses['200']?.content?.['application/json']?.schema ?? {};
    expect([request, hasFields(body), hasFields(answer)]).toEqual([request, false, false]);
  }
  walk(document.components.schemas, ({ anyOf, oneOf }) => {
    const alternatives = [anyOf, oneOf].flatMap((one) => (Array.isArray(one) ? one : []));
    // A schema that only narrows the fields of its parent object has no additionalProperties.
    const types = (alternatives as Schema[]).filter((one) => 'additionalProperties' in one);
    expect(types.filter(hasFields)).toEqual([]);
  });
});

test('openapi.yaml distinguishes the alternatives of stored input by a discriminator.', () => {
  const { oneOf, discriminator } = document.components.schemas.StoredInputItem as {
    oneOf: { $ref: string }[];
    discriminator: { propertyName: string; mapping: Record<string, string> };
  };
  const { propertyName, mapping } = discriminator;
  expect(Object.values(mapping)).toEqual(oneOf.map(({ $ref }) => $ref));
  for (const [value, ref] of Object.entries(mapping)) {
    const { properties } = at(ref) as { properties: Record<string, Schema> };
    expect(properties[propertyName]).toMatchObject({ const: value });
  }
});

test('openapi.yaml restricts event kinds and tool calls as the server does.', () => {
  const compiler = new Ajv2020({ strict: false, formats });
  compiler.addSchema({ components: document.components }, 'openapi.yaml');
  const takes = (schema: unknown, value: unknown) =>
    compiler.validate(
      JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi.yaml#/')) as object,
      value,
    );
  const kind = operations
    .find(({ operation }) => operation.operationId === 'replayEvents')
    ?.operation.parameters.find(({ name }) => name === 'kind')?.schema;
  expect(
    [['turn.*'], ['turn.completed'], [''], ['nope'], []].map((one) => takes(kind, one)),
  ).toEqual([true, true, false, false, false]);
  const call = document.components.schemas.InvokeToolRequest;
  const caller = { caller_agent_id: 'sess_1' };
  expect(takes(call, { ...caller, tool_name: 'cadre_team_status' })).toBe(true);
  expect(takes(call, { ...caller, tool_name: null, toolName: 'cadre_team_status' })).toBe(true);
  for (const bad of [
    {},
    { tool_name: null },
    { tool_name: ' ' },
    { tool_name: null, toolName: null },
  ])
    expect([bad, takes(call, { ...caller, ...bad })]).toEqual([bad, false]);
  expect(takes(call, { tool_name: 'cadre_team_status', callerAgentId: null })).toBe(false);
});

/** Formats that zod writes and checks. */
const formats = { base64: true, uri: true } as const;

function allSchemas(): Schema[] {
  return [...Object.values(document.components.schemas), ...schemasOfOperations()];
}

/** Returns the schemas of the operations, each reference to a component once. */
function schemasOfOperations(): Schema[] {
  const own = operations.flatMap(({ operation: { parameters, requestBody, responses } }) => [
    ...parameters.map((one) => one.schema),
    ...Object.values(requestBody?.content ?? {}).map((one) => one.schema),
    ...Object.values(responses).flatMap((one) =>
      Object.values(one.content ?? {}).map((part) => part.schema),
    ),
  ]);
  return [...new Map(own.map((schema) => [JSON.stringify(schema), schema])).values()];
}

function resolved<T extends object>(part: T): T {
  return '$ref' in part ? (at(String(part.$ref)) as T) : part;
}

function at(ref: string): unknown {
  return ref
    .slice(2)
    .split('/')
    .reduce<unknown>((found, key) => (found as Schema | undefined)?.[key], document);
}

function codesIn(description: string): ErrorCode[] {
  return [...description.matchAll(/^`(\w+)`: /gm)].map(([, code]) => code as ErrorCode);
}

function statusOf(code: ErrorCode, { statuses }: Endpoint): number {
  return errorReply(new AppError(code, ''), statuses).status;
}

function walk(value: unknown, visit: (schema: Schema) => void): void {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) visit(value as Schema);
  for (const part of Object.values(value)) walk(part, visit);
}
