import { createRequire } from 'node:module';
import path from 'node:path';
import { build } from 'esbuild';
import { z } from 'zod';
import { beforeAll, expect, test } from 'vitest';
import type { Endpoint } from '../../src/api/endpoint.ts';
import { endpoints } from '../../src/api/index.ts';
import { lazySchemas } from '../../scripts/lazy-schemas.mjs';
import { someOf } from '../support/at-length.ts';
import { tempDirectory } from '../support/temp.ts';

interface Bundled {
  z: typeof z;
  endpoints: Record<string, Endpoint>;
}

let bundled: Bundled;

beforeAll(async () => {
  await using directory = tempDirectory();
  const outfile = path.join(directory.path, 'api.cjs');
  await build({
    stdin: {
      contents: `export { z } from 'zod'; export { endpoints } from './src/api/index.ts';`,
      resolveDir: path.join(import.meta.dirname, '../..'),
    },
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node22.12',
    format: 'cjs',
    plugins: [lazySchemas],
  });
  // All copies of zod in a process share a registry of schemas, and the copy of the sources does not know stand-ins.
  const shared = globalThis as { __zod_globalRegistry?: unknown };
  const { __zod_globalRegistry: ofSources } = shared;
  delete shared.__zod_globalRegistry;
  bundled = createRequire(import.meta.url)(outfile) as Bundled;
  shared.__zod_globalRegistry = ofSources;
});

test.each(someOf(Object.keys(endpoints), 4))(
  'The bundled schemas of endpoint %s equal the schemas of the sources.',
  (name) => {
    const of = (table: object) => (table as Record<string, Endpoint>)[name] as Endpoint;
    expect(described(of(bundled.endpoints), bundled.z)).toEqual(described(of(endpoints), z));
  },
);

test('A bundled schema accepts and refuses the same bodies as the schema of the sources, with the same issues.', () => {
  const body = { name: 'a', lead_agent_id: 'b', member_agent_ids: ['c'] };
  for (const value of [body, { ...body, name: '' }, { ...body, more: 1 }, null]) {
    const results = [endpoints, bundled.endpoints].map((table) => {
      const schema = (table as Record<string, Endpoint>).createTeam?.body;
      const { success, data, error } = schema?.safeParse(value) ?? {};
      return { success, data, issues: error?.issues };
    });
    expect(results[1]).toEqual(results[0]);
  }
});

/** Everything that can be said of an endpoint, as JSON Schema. */
function described(
  endpoint: Endpoint,
  { toJSONSchema, object }: Pick<typeof z, 'toJSONSchema' | 'object'>,
) {
  const { params, query, body, response, frames, ...rest } = endpoint;
  const schema = (one: z.ZodType, io: 'input' | 'output') =>
    toJSONSchema(one, { io, unrepresentable: 'any' });
  return JSON.parse(
    JSON.stringify({
      ...rest,
      params: schema(object(params), 'input'),
      query: schema(object(query), 'input'),
      body: body && schema(body, 'input'),
      response: schema(response, 'output'),
      frames: schema(object(frames), 'output'),
    }),
  ) as unknown;
}
