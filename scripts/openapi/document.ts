import { stringify } from 'yaml';
import { z } from 'zod';
import type { Endpoint } from '../../src/api/endpoint.ts';
import { endpoints } from '../../src/api/index.ts';
import { answerHeaders, answersOf, type Components, takesKey } from './answers.ts';

/** The description of the interface as YAML, made from the endpoint table. */
export function openApiYaml(version: string): string {
  const components: Components = { schemas: {}, responses: {} };
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
      headers: answerHeaders,
      responses: sorted(components.responses),
      schemas: sorted(components.schemas),
    },
  };
  return stringify(document, {
    lineWidth: 110,
    blockQuote: 'literal',
    aliasDuplicateObjects: false,
  });
}

const description = `Runs teams of coding agents on one machine.

- A request is looked at in this order: Host, Origin, token, route, method, content type, size, body. Fields and
  parameters that are not described here are refused by name; numbers out of range are refused, never clamped.
- An answer means that what it tells of is on disk. Fields and kinds of events may be added to it.
- A list is an array, newest first; the next page begins at the cursor in X-Next-Cursor. Lists and replays also end
  at 8 MiB.
- All events share one sequence, \`seq\`. It has holes, and no number is given twice.
- Timestamps are integer Unix milliseconds.
- HEAD works wherever GET does, with the same headers; it opens no stream and waits for nothing.
- A client that reconnects by itself, as EventSource does, is given no after_seq: it would repeat it. Whether the
  log is still the one it knows, it learns from X-Epoch, or where it sees no headers from \`epoch\` of GET /v1/version.
- Numbers in a body are kept to the last digit or refused: an integer beyond 2^53 is sent as a string.

Where this disagrees with the server, the server is right.`;

/** The first is what a client takes: a description that was fetched from a server is of that server. */
const servers = [
  { url: '/', description: 'The server that this description came from.' },
  { url: 'http://127.0.0.1:7433', description: 'Where a server listens unless it is configured.' },
];

/** One a noun: an operation has that of the last noun in its path. */
const tags: Record<string, string> = {
  runtime: 'Health, version, diagnostics and this description.',
  providers: 'What agents there are, their models and logins.',
  sessions: 'Conversations with agents.',
  turns: 'What is said to an agent, and all it says and does until it has answered.',
  approvals: 'What agents ask for permission for.',
  processes: 'Commands that the server runs.',
  worktrees: 'Working trees of git, and who needs them.',
  'worktree-trust': 'What repositories bring that can be run, and what of it may.',
  teams: 'Sessions that work together, and what they say to each other.',
  events: 'Everything that happens, in order: as replays and as streams.',
  tokens: 'Tokens beside the API token.',
};

const requestHeaders = {
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Names the request in the answer and in the log. One that is not 1 to 64 letters, digits, "_", "." and "-" is ' +
      'replaced, since no request fails for its name.',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'The same request with the same key and token is carried out once within 24 h; who asks again gets the ' +
      'stored answer, if that was 2xx, or a 409 other than `turn_in_progress`. With another body the key is refused; ' +
      'the order of keys in it does not count.',
    schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    description:
      'Only events after this one; not looked at where after_seq or from_byte is a number. It wins over `latest`.',
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
                schema: named(
                  `${capitalised(name)}Request`,
                  `The body of ${endpoint.method} ${endpoint.path}.`,
                  schemaOf(body, 'input', components),
                  components,
                ),
              },
            },
          },
        }
      : {}),
    responses: answersOf(endpoint, components, (schema) => {
      const described = schemaOf(schema, 'output', components);
      return schema === endpoint.response && endpoint.answers === 'json'
        ? named(
            `${capitalised(name)}Response`,
            `What ${endpoint.method} ${endpoint.path} answers.`,
            described,
            components,
          )
        : described;
    }),
  };
}

/** A component of that name instead of an object without one: generators name their types after components. */
function named(
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

/** The schema as JSON Schema; what has an id becomes a component and is referred to. */
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
