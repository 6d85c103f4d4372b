import { z } from 'zod';
import type { Endpoint } from '../../src/api/endpoint.ts';
import { type ServerErrorCode, serverErrorCodes } from '../../src/api/errors.ts';
import { eventGroups, eventKinds } from '../../src/api/events.ts';
import { endpoints } from '../../src/api/index.ts';
import { refusals, statusOf, unreadRefusals } from '../../src/api/refusals.ts';
import { toolNamespaces } from '../../src/api/tools.ts';
import { codesOf, takesKey } from './answers.ts';
import { openApi } from './document.ts';
import { describedTable, fieldTable, table } from './field-tables.ts';
import { linkInPage, recordName, type Schema, typeOf } from './schema-words.ts';

interface Parameter {
  name: string;
  in: string;
  description?: string;
  schema: Schema;
}

type Media = Record<string, { schema: Schema }>;

interface Operation {
  operationId: string;
  parameters: (Parameter | { $ref: string })[];
  requestBody?: { content: Media };
  responses: Record<string, { headers?: Record<string, object>; content?: Media }>;
}

/** docs/reference.md: every endpoint with its parameters, body, response and errors, and the records that they use. */
export function referencePage(version: string): string {
  return new ReferencePage(openApi(version)).text();
}

class ReferencePage {
  readonly #document: ReturnType<typeof openApi>;
  readonly #schemas: Record<string, Schema>;
  readonly #operations = new Map<string, { endpoint: Endpoint; operation: Operation }>();
  /** The records that the endpoints refer to. */
  readonly #used = new Set<string>();

  constructor(document: ReturnType<typeof openApi>) {
    this.#document = document;
    this.#schemas = document.components.schemas;
    for (const [name, endpoint] of Object.entries(endpoints as Record<string, Endpoint>)) {
      const operation = document.paths[endpoint.path]?.[endpoint.method.toLowerCase()];
      this.#operations.set(name, { endpoint, operation: operation as Operation });
    }
  }

  text(): string {
    const nouns = Object.entries(this.#nouns()).map(([name, about]) => this.#noun(name, about));
    const tools = toolsSection(this.#linkOf);
    const all = [...this.#operations.values()].map(({ endpoint }) => endpoint);
    const codes = errorCodes(all, this.#linkOf);
    const parts = [
      head,
      headers(this.#document),
      ...nouns,
      tools,
      events(),
      codes,
      this.#records(),
    ];
    return `${parts.join('\n\n')}\n`;
  }

  /** The nouns by which the endpoints are grouped: the tags, and parts of paths that have no tag. */
  #nouns(): Record<string, string> {
    const tags = this.#document.tags.map(({ name, description }) => [name, description] as const);
    return { ...Object.fromEntries(tags), ...untagged };
  }

  #nounOf({ path }: Endpoint): string {
    const nouns = this.#nouns();
    return path.split('/').findLast((part) => part in nouns) ?? 'runtime';
  }

  #noun(noun: string, description: string): string {
    const all = [...this.#operations.values()];
    const own = all.filter(({ endpoint }) => this.#nounOf(endpoint) === noun);
    const rows = own.map(({ endpoint }) => {
      const request = requestOf(endpoint);
      return [`[${request}](#${anchor(request)})`, scopeOf(endpoint), endpoint.summary];
    });
    return [
      `## Endpoints: ${noun}`,
      description,
      table(['Endpoint', 'Scope', 'Summary'], rows),
      ...own.map(({ endpoint, operation }) => this.#endpoint(endpoint, operation)),
    ].join('\n\n');
  }

  #endpoint(endpoint: Endpoint, operation: Operation): string {
    const parameters = operation.parameters.filter((one): one is Parameter => 'in' in one);
    const body = operation.requestBody?.content['application/json']?.schema;
    return [
      `### ${requestOf(endpoint)}`,
      `${endpoint.summary}.`,
      [
        `- Scope: ${scopeOf(endpoint)}.`,
        `- Response: ${this.#response(endpoint, operation)}`,
        ...ownHeaders(operation),
        ...(takesKey(endpoint) ? ['- Accepts `Idempotency-Key`.'] : []),
        ...(endpoint.method === 'GET' ? [] : [`- Maximum body size: ${size(endpoint.bodyLimit)}.`]),
        ...ownErrors(endpoint),
      ].join('\n'),
      ...this.#parameters(parameters),
      ...(body ? [this.#fields('Body field', this.#resolved(body))] : []),
      ...this.#responseFields(endpoint, operation),
    ].join('\n\n');
  }

  #parameters(parameters: readonly Parameter[]): string[] {
    if (parameters.length === 0) return [];
    const rows = parameters.map(({ name, in: place, description, schema }) => ({
      cells: [`\`${name}\``, place],
      schema: { ...schema, ...(description === undefined ? {} : { description }) },
    }));
    return [describedTable(['Parameter', 'In'], rows, this.#linkOf)];
  }

  #response(endpoint: Endpoint, operation: Operation): string {
    const { status, answers, frames } = endpoint;
    if (status === 204) return '204, without a body.';
    const [type = '', { schema = {} } = {}] = Object.entries(
      operation.responses[String(status)]?.content ?? {},
    )[0] ?? ['', {}];
    if (answers === 'text' || answers === 'bytes') return `${status}, \`${type}\`.`;
    if (answers === 'json') {
      const isInline = this.#resolved(schema) !== schema && this.#isOwn(schema, operation);
      return isInline ? `${status}, an object.` : `${status}, ${typeOf(schema, this.#linkOf)}.`;
    }
    const others = Object.keys(frames).map((name) => `\`${name}\``);
    const more = others.length > 0 ? `, and frames ${others.join(', ')}` : '';
    return `${status}, Server-Sent Events${more}.`;
  }

  #responseFields(endpoint: Endpoint, operation: Operation): string[] {
    const content = operation.responses[String(endpoint.status)]?.content ?? {};
    const json = content['application/json']?.schema;
    if (json && this.#isOwn(json, operation))
      return [this.#fields('Response field', this.#resolved(json))];
    if (endpoint.answers !== 'stream') return [];
    return framesOf(content['text/event-stream']?.schema ?? {}).map(({ name, data }) =>
      data.$ref
        ? `Data of frames ${name}: ${this.#linkOf(recordName(data.$ref))}.`
        : Object.keys(data.properties ?? {}).length === 0
          ? `Data of frames ${name}: \`{}\`. ${data.description ?? ''}`.trimEnd()
          : `Data of frames ${name}:\n\n${this.#fields('Field', data)}`,
    );
  }

  /** Whether a schema is the component of one response: its fields are shown with the endpoint. */
  #isOwn({ $ref }: Schema, { operationId: id }: Operation): boolean {
    const name = `${id.charAt(0).toUpperCase()}${id.slice(1)}Response`;
    return $ref !== undefined && recordName($ref) === name;
  }

  #fields(title: string, schema: Schema): string {
    return fieldTable(title, schema, this.#linkOf);
  }

  #resolved(schema: Schema): Schema {
    return (schema.$ref && this.#schemas[recordName(schema.$ref)]) || schema;
  }

  readonly #linkOf = (name: string): string => {
    if (name === 'RuntimeEventRecord') return '[event](events.md)';
    this.#used.add(name);
    return linkInPage(name);
  };

  /** The sections of all records that the endpoints use; each may refer to more of them. */
  #records(): string {
    const sections = new Map<string, string>();
    for (const name of this.#used) {
      const schema = this.#schemas[name];
      if (!schema) throw new Error(`no component is named ${name}`);
      const { description = '' } = schema;
      const fields = schema.properties
        ? this.#fields('Field', schema)
        : `${typeOf(schema, this.#linkOf)}.`;
      sections.set(name, `### ${name}\n\n${plain(description)}\n\n${fields}`);
    }
    const sorted = [...sections].toSorted(([a], [b]) => a.localeCompare(b));
    const about = `The objects in requests and responses, by name. A field that is marked † may be absent.`;
    return ['## Records', about, ...sorted.map(([, text]) => text)].join('\n\n');
  }
}

const untagged = {
  queue: 'Prompts that become turns later.',
  review: 'Comments on the diff of a session, which are sent as one turn.',
  search: 'Search in prompts, answers, tool calls and titles.',
  hooks: 'Commands and URLs that receive events.',
  mcp: 'Tools that agents call.',
};

const head = `# HTTP reference

Written by \`make openapi\` from src/api. This page lists every endpoint, record and error code. The rules that apply to
all of them are in [the interface](interface.md). The same as OpenAPI 3.1 is \`GET /openapi.yaml\`.

The column *Scope* lists the token scopes that suffice: \`read\`, \`tools\` or \`admin\`; *agent* is the token of a
session's own agent; *public* needs no token. A scope \`admin\` always suffices. Error codes that are not listed at an
endpoint are in [the table of error codes](#error-codes). A body field or parameter with the type "or null" may be null,
which is the same as absent unless the description says otherwise.`;

function headers({ components }: ReturnType<typeof openApi>): string {
  const sent = Object.values(components.parameters).map(({ name, description }) => [
    `\`${name}\``,
    plain(description),
  ]);
  const received = Object.entries(components.headers).map(([name, { description }]) => [
    `\`${name}\``,
    plain(description),
  ]);
  return [
    '## Headers',
    table(['Request header', 'Description'], sent),
    table(['Response header', 'Description'], received),
  ].join('\n\n');
}

/** Headers that every response, or every response with a token, has. */
const usualHeaders = new Set(['X-Request-Id', 'X-Epoch', 'X-Seq', 'Idempotency-Replayed']);

function ownHeaders({ responses }: Operation): string[] {
  const names = Object.values(responses)
    .flatMap(({ headers = {} }) => Object.keys(headers))
    .filter((name) => !usualHeaders.has(name));
  return names.length === 0
    ? []
    : [`- Response headers: ${names.map((name) => `\`${name}\``).join(', ')}.`];
}

function ownErrors(endpoint: Endpoint): string[] {
  if (endpoint.errors.length === 0) return [];
  const codes = endpoint.errors.map((code) => `\`${code}\` (${statusOf(code, endpoint.statuses)})`);
  return [`- Errors: ${codes.join(', ')}.`];
}

function scopeOf({ access, method }: Endpoint): string {
  const reads = method === 'GET';
  switch (access) {
    case 'public':
      return 'public';
    case 'admin':
      return '`admin`';
    case 'token':
      return reads ? '`read`' : '`admin`';
    case 'gateway':
      return reads ? '`tools`, `read`, agent' : '`tools`, agent';
  }
}

function requestOf({ method, path }: Endpoint): string {
  return `${method} ${path}`;
}

function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');
}

function size(bytes: number): string {
  const kib = bytes / 1024;
  return kib < 1024 ? `${kib} KiB` : `${kib / 1024} MiB`;
}

function plain(text: string): string {
  return text.replaceAll('\n', ' ');
}

/** The frames of a stream: the name of their event, and the schema of their data. */
function framesOf(schema: Schema): { name: string; data: Schema }[] {
  const { contentSchema } = schema as { contentSchema?: Schema };
  const frames = contentSchema?.items?.anyOf ?? [];
  return frames.map(({ properties = {} }) => {
    const { contentSchema: data = {} } = properties.data as { contentSchema?: Schema };
    const event = properties.event?.const;
    return { name: event === undefined ? 'with an id' : `\`${event}\``, data };
  });
}

function toolsSection(linkOf: (name: string) => string): string {
  const tools = Object.values(toolNamespaces).flatMap((tools) => Object.entries(tools));
  const sections = tools.map(([name, { description, args }]) => {
    const { properties, required } = z.toJSONSchema(args, { io: 'input' }) as Schema;
    const schema = { properties: properties ?? {}, required: required ?? [] };
    return `### ${name}\n\n${description}\n\n${fieldTable('Argument', schema, linkOf)}`;
  });
  const about =
    'Tools are called with [POST /v1/mcp/invoke](#post-v1mcpinvoke) or over MCP. Their effects are listed in ' +
    '[permissions.md](permissions.md).';
  return ['## Tools', about, ...sections].join('\n\n');
}

function events(): string {
  const lines = eventGroups.map((group) => {
    const own = eventKinds.filter((kind) => kind.startsWith(`${group}.`));
    return `- ${own.map((kind) => `[${kind}](events.md#${anchor(kind)})`).join(', ')}`;
  });
  const about =
    'The kinds of events. [events.md](events.md) describes the record of an event, and each payload.';
  return ['## Events', about, lines.join('\n')].join('\n\n');
}

/** The sorts of endpoints, of which all have certain error codes. */
const sorts: [words: string, has: (endpoint: Endpoint) => boolean][] = [
  ['every endpoint', () => true],
  ['every endpoint that needs a token', ({ access }) => access !== 'public'],
  [
    'every endpoint that needs a token, except GET for tools',
    ({ access, method }) => access !== 'public' && !(access === 'gateway' && method === 'GET'),
  ],
  ['every POST, PATCH and DELETE', ({ method }) => method !== 'GET'],
  ['every endpoint that accepts `Idempotency-Key`', takesKey],
  ['every stream', ({ answers }) => answers === 'stream'],
];

function errorCodes(all: readonly Endpoint[], linkOf: (name: string) => string): string {
  const rows = serverErrorCodes.map((code) => {
    const { status, when } = refusals[code];
    return [`\`${code}\``, String(status), when, whereOf(code, all)];
  });
  const about =
    `The body of an error is an ${linkOf('Error')}, and for 401 an ${linkOf('Unauthorized')}. An endpoint with another ` +
    'status for a code shows that status.';
  const unread = Object.entries(unreadRefusals).map(([status, { when }]) => `${status} (${when})`);
  const beforeAll = `Every endpoint may also answer with code \`invalid\` and status ${unread.join(' or ')}. Such an answer has no \`X-Request-Id\`.`;
  return [
    '## Error codes',
    about,
    beforeAll,
    table(['Code', 'Status', 'Condition', 'Where'], rows),
  ].join('\n\n');
}

/** Returns which endpoints have a code without listing it. */
function whereOf(code: ServerErrorCode, all: readonly Endpoint[]): string {
  if (code === 'method_not_allowed') return 'every path';
  const common = all.filter((endpoint) => codesOf({ ...endpoint, errors: [] }).includes(code));
  const listed = all.filter(({ errors }) => errors.includes(code));
  const sort = sorts.find(([, has]) => all.every((one) => has(one) === common.includes(one)));
  if (common.length > 0 && !sort) throw new Error(`the endpoints with ${code} have no name`);
  const words = common.length > 0 && sort ? [sort[0]] : [];
  const isCovered = listed.every((endpoint) => common.includes(endpoint));
  return [...words, ...(isCovered ? [] : ['endpoints that list it'])].join(', and ');
}
