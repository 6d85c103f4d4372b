import { stringify } from 'yaml';
import { z } from 'zod';
import type { Endpoint } from '../../src/api/endpoint.ts';
import { endpoints } from '../../src/api/index.ts';
import { responseHeaders, responsesOf, type Components, takesKey } from './answers.ts';

/** The description of the interface as YAML, made from the endpoint table. */
export function openApiYaml(version: string): string {
  return stringify(openApi(version), {
    lineWidth: 110,
    blockQuote: 'literal',
    aliasDuplicateObjects: false,
  });
}

/** The same as a value. */
export function openApi(version: string) {
  const components: Components = { schemas: {}, responses: {} };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, endpoint] of Object.entries(endpoints as Record<string, Endpoint>)) {
    (paths[endpoint.path] ??= {})[endpoint.method.toLowerCase()] = operation(
      name,
      endpoint,
      components,
    );
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'cadre',
      version,
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers,
    security: [{ token: [] }],
    tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      parameters: requestHeaders,
      headers: responseHeaders,
      responses: sorted(components.responses),
      schemas: sorted(components.schemas),
    },
  };
}

const description = `Runs teams of coding agents on one machine.

- The server checks a request in this order: Host, Origin, token, route, method, content type, size, body. It refuses
  fields and parameters that are not described here by name. It refuses numbers out of range and never clamps them.
- The server responds after everything that the response reports is on disk. Later versions may add fields and event
  kinds.
- A list is an array, newest first. The next page starts at the cursor in X-Next-Cursor. Pages of lists and replays
  also end at 8 MiB.
- All events share one sequence number, \`seq\`. It has gaps, and no number is used twice.
- Timestamps are integer Unix milliseconds.
- HEAD works wherever GET does and returns the same headers. It opens no stream and does not wait.
- A client that reconnects automatically, such as EventSource, must not send after_seq. It would repeat the parameter at
  every reconnection. X-Epoch shows whether the log is still the same. A client that cannot read headers gets it as
  \`epoch\` from GET /v1/version.
- Numbers in a body are stored exactly or refused. Send an integer beyond 2^53 as a string.

If this description and the server disagree, the server is right.`;

/** Clients use the first entry by default, which is the server that the description was fetched from. */
const servers = [
  { url: '/', description: 'The server that this description was fetched from.' },
  { url: 'http://127.0.0.1:7433', description: 'The default address of a server.' },
];

/** The tags, one for each noun: an operation has the tag of the last noun in its path. */
const tags: Record<string, string> = {
  runtime: 'Health, version, diagnostics and this description.',
  providers: 'Providers of agents, their models and logins.',
  sessions: 'Conversations with agents.',
  turns: 'Prompts to an agent, with its messages and tool calls.',
  approvals: 'Permission requests of agents.',
  'approval-rules': 'Rules that decide permission requests without a user.',
  usage: 'Tokens and cost of turns.',
  budgets: 'Limits on tokens, cost and turns.',
  processes: 'Commands that the server runs.',
  worktrees: 'Git worktrees, and the claims of sessions on them.',
  'worktree-trust': 'Content of repositories that must be allowed before it runs.',
  teams: 'Sessions that work together, and their messages.',
  events: 'All events in order, as replays and as streams.',
  tokens: 'Tokens in addition to the API token.',
};

const requestHeaders = {
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Id of the request in the response and in the log. A value that does not have 1 to 64 letters, digits, "_", "." ' +
      'and "-" is replaced; the request does not fail.',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A request with the same key and token is executed once within 24 h. A repeated request gets the stored response ' +
      'if its status was 2xx, or 409 with a code other than `turn_in_progress`. Conflicts with a temporary state are not stored, ' +
      'for example a turn that runs in a worktree to be merged. The same key with a different body is refused. The order of ' +
      'fields in the body does not matter.',
    schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    description:
      'Return only events after this one. Ignored if after_seq or from_byte is a number. Takes precedence over `latest`.',
    schema: { type: 'string', pattern: '^\\d{1,16}$' },
  },
};

function operation(name: string, endpoint: Endpoint, components: Components): object {
  const { summary, access, body } = endpoint;
  return {
    operationId: name,
    tags: [tagOf(endpoint.path)],
    summary,
    ...(access === 'public' ? { security: [] } : {}),
    parameters: parametersOf(endpoint, components),
    ...(body
      ? {
          requestBody: {
            // An empty body counts as {}.
            required: !body.safeParse({}).success,
            content: {
              'application/json': {
                schema: asComponent(
                  `${capitalised(name)}Request`,
                  `Body of ${endpoint.method} ${endpoint.path}.`,
                  schemaOf(body, 'input', components),
                  components,
                ),
              },
            },
          },
        }
      : {}),
    responses: responsesOf(endpoint, components, (schema) => {
      const described = schemaOf(schema, 'output', components);
      return schema === endpoint.response && endpoint.answers === 'json'
        ? asComponent(
            `${capitalised(name)}Response`,
            `Response of ${endpoint.method} ${endpoint.path}.`,
            described,
            components,
          )
        : described;
    }),
  };
}

/** Turns an object without a name into a component, because client generators name their types after components. */
function asComponent(
  name: string,
  description: string,
  schema: Record<string, unknown>,
  { schemas }: Components,
): Record<string, unknown> {
  if (Object.keys((schema.properties as object | undefined) ?? {}).length === 0) return schema;
  schemas[name] = { description, ...schema };
  return { $ref: `#/components/schemas/${name}` };
}

function capitalised(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function tagOf(path: string): string {
  return path.split('/').findLast((part) => part in tags) ?? 'runtime';
}

function parametersOf(endpoint: Endpoint, components: Components): object[] {
  const { params, query, answers } = endpoint;
  const described = (place: 'path' | 'query') => (entry: [name: string, schema: z.ZodType]) => {
    const { description: text, ...schema } = schemaOf(entry[1], 'input', components);
    return {
      name: entry[0],
      in: place,
      required: place === 'path',
      ...(text === undefined ? {} : { description: text }),
      schema,
    };
  };
  const common = (name: keyof typeof requestHeaders) => ({
    $ref: `#/components/parameters/${name}`,
  });
  return [
    ...Object.entries(params).map(described('path')),
    ...Object.entries(query).map(described('query')),
    ...(answers === 'stream' ? [common('LastEventId')] : []),
    ...(takesKey(endpoint) ? [common('IdempotencyKey')] : []),
    common('RequestId'),
  ];
}

/** The schema as JSON Schema. Each part with an id becomes a component, and a reference to it takes its place. */
function schemaOf(
  schema: z.ZodType,
  io: 'input' | 'output',
  { schemas }: Components,
): Record<string, unknown> {
  const {
    $schema: _,
    $defs: defs,
    ...own
  } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'throw',
  }) as Record<string, unknown> & { $defs?: Record<string, unknown> };
  const moved = ({ id: _id, ...rest }: Record<string, unknown>) =>
    JSON.parse(JSON.stringify(rest).replaceAll('#/$defs/', '#/components/schemas/')) as Record<
      string,
      unknown
    >;
  for (const [id, described] of Object.entries(defs ?? {}))
    schemas[id] ??= moved(described as Record<string, unknown>);
  if (typeof own.id !== 'string') return moved(own);
  schemas[own.id] ??= moved(own);
  return { $ref: `#/components/schemas/${own.id}` };
}

function sorted<T>(named: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(named).toSorted(([a], [b]) => a.localeCompare(b)));
}
