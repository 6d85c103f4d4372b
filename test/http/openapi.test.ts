import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { openApiYaml } from '../../src/api/openapi.ts';
import { version } from '../../src/lib/self.ts';
import { withRuntime } from '../support/runtime.ts';
import { send, table } from './support/request.ts';

const file = readFileSync(new URL('../../src/api/openapi.yaml', import.meta.url), 'utf8');

type Schema = Record<string, unknown>;
interface Operation {
  operationId: string;
  summary: string;
  security?: object[];
  parameters?: { name: string; in: string; required: boolean; schema: Schema }[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { description: string; content: Record<string, { schema: Schema }> }>;
}
const document = parse(file) as {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: object };
  security: object[];
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

describe('openapi.yaml', () => {
  test('is what the endpoint table says: run scripts/openapi.mjs after changing it.', () => {
    expect(file).toBe(openApiYaml(version));
  });

  test('is what the server serves, to anybody, as YAML.', () =>
    withRuntime(async ({ url }) => {
      const reply = await send(url, { path: '/openapi.yaml' });
      expect(reply.status).toBe(200);
      expect(reply.headers['content-type']).toBe('application/yaml; charset=utf-8');
      expect(reply.text).toBe(file);
    }));

  test('is OpenAPI 3.1 with a name, a version and the bearer scheme.', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: 'cadre', version });
    expect(document.components.securitySchemes).toEqual({
      token: { type: 'http', scheme: 'bearer' },
    });
    expect(document.security).toEqual([{ token: [] }]);
  });

  test('has every endpoint under its method and path, and nothing else.', () => {
    expect(
      operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`).toSorted(),
    ).toEqual(table.map(({ request }) => request).toSorted());
  });

  test('gives each operation an id of its own, a summary and a description of every answer.', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operation } of operations) {
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/);
      expect(operation.summary).not.toBe('');
      expect(Object.keys(operation.responses).toSorted()).toEqual(['200', 'default']);
      for (const { description, content } of Object.values(operation.responses)) {
        expect(description).not.toBe('');
        expect(Object.keys(content)).toHaveLength(1);
      }
    }
  });

  test('names each parameter of a path once, as required, and no other.', () => {
    for (const { path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const named = (operation.parameters ?? []).filter((one) => one.in === 'path');
      expect(named.map(({ name }) => name)).toEqual(inPath);
      expect(named.every(({ required }) => required)).toBe(true);
      const places = (operation.parameters ?? []).map((one) => `${one.in} ${one.name}`);
      expect(new Set(places).size).toBe(places.length);
    }
  });

  test('says which routes need no token.', () => {
    const open = operations.filter(({ operation }) => operation.security?.length === 0);
    expect(open.map(({ path }) => path)).toEqual(['/health', '/openapi.yaml']);
  });

  test('resolves every $ref, uses every schema, and leaves no $defs or $schema behind.', () => {
    const refs = new Set([...file.matchAll(/\$ref: "?'?(#\/[\w/]+)/g)].map(([, ref]) => ref ?? ''));
    expect(refs.size).toBeGreaterThan(5);
    for (const ref of refs) {
      const found = ref
        .slice(2)
        .split('/')
        .reduce<unknown>((at, key) => (at as Schema | undefined)?.[key], document);
      expect([ref, typeof found]).toEqual([ref, 'object']);
    }
    const names = Object.keys(document.components.schemas);
    expect(names.filter((name) => !refs.has(`#/components/schemas/${name}`))).toEqual([]);
    expect(file).not.toMatch(/\$defs|\$schema/);
  });

  test('each schema is JSON Schema of the dialect of 3.1: no `nullable`, no `id`, types that there are.', () => {
    const types = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
    walk(document.components.schemas, (schema) => {
      expect(schema).not.toHaveProperty('nullable');
      if (
        typeof schema.type === 'string' &&
        !('properties' in schema && 'type' in (schema.properties as object))
      ) {
        expect(types).toContain(schema.type);
      }
    });
    for (const schema of Object.values(document.components.schemas))
      expect(schema).not.toHaveProperty('id');
  });

  test('says what a request may hold strictly, and what an answer holds loosely.', () => {
    for (const { operation } of operations) {
      const body = operation.requestBody?.content['application/json']?.schema;
      if (body) expect(body).toMatchObject({ type: 'object', additionalProperties: false });
    }
    expect(document.components.schemas.Session).toMatchObject({ additionalProperties: {} });
    expect(document.components.schemas.Error).toMatchObject({ required: ['error'] });
  });

  test('can be read back: each component is a schema that zod takes.', () => {
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const resolved = { ...schema, $defs: document.components.schemas };
      const local = JSON.parse(
        JSON.stringify(resolved).replaceAll('#/components/schemas/', '#/$defs/'),
      ) as Parameters<typeof z.fromJSONSchema>[0];
      expect([name, z.fromJSONSchema(local)]).toEqual([name, expect.anything()]);
    }
  });
});

function walk(value: unknown, visit: (schema: Schema) => void): void {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) visit(value as Schema);
  for (const part of Object.values(value)) walk(part, visit);
}
