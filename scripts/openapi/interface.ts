import { format } from 'oxfmt';
import { eventKinds } from '../../src/api/events.ts';
import { comment, declaration, fields, type Schema, typeOf } from './types.ts';

interface Operation {
  summary: string;
  parameters: { name?: string; in?: string; description?: string; schema?: Schema }[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

/** Source of the types: the document that openapi.yaml contains. */
export interface Document {
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, unknown> };
}

/** The types of the client library: each component of the interface, and all routes with what they take and answer. */
export function interfaceTypes(document: Document): Promise<string> {
  return formatted(typesOf(document));
}

/** The names of the kinds, which the library has to know when it runs. */
export function kindsModule(): Promise<string> {
  const about = comment('The kinds of events that this version of the library describes.');
  const names = JSON.stringify(eventKinds);
  return formatted(
    `${HEAD}\n${about}export const eventKinds: ReadonlySet<string> = new Set(${names});`,
  );
}

const HEAD = '// Written by `make openapi`.\n';

async function formatted(text: string): Promise<string> {
  const { code, errors } = await format('file.ts', text, { printWidth: 100, singleQuote: true });
  if (errors.length > 0) throw new Error(`it cannot be read: ${JSON.stringify(errors)}`);
  return code;
}

function typesOf({ paths, components }: Document): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      route: `${method.toUpperCase()} ${path}`,
      operation: operation as Operation,
    })),
  );
  const documents = operations.filter(({ operation }) => !isRaw(operation));
  const raw = operations.filter(({ operation }) => isRaw(operation));
  return [
    HEAD,
    ...Object.entries(components.schemas).map(([name, schema]) =>
      declaration(name, schema as Schema),
    ),
    routes('Routes that return one document, by method and path.', 'Routes', documents),
    routes('Routes that return a stream or a file.', 'RawRoutes', raw),
  ].join('\n');
}

function routes(
  about: string,
  name: string,
  list: readonly { route: string; operation: Operation }[],
): string {
  const lines = list.map(
    ({ route, operation }) =>
      `${comment(`${operation.summary}.`)}${JSON.stringify(route)}: ${routeType(operation)};`,
  );
  return `${comment(about)}export interface ${name} {\n${lines.join('\n')}\n}\n`;
}

function routeType(operation: Operation): string {
  const inPlace = (place: string) =>
    operation.parameters
      .filter((one) => one.in === place)
      .map(({ name = '', description, schema = {} }) => ({
        name,
        schema: description === undefined ? schema : { ...schema, description },
        isRequired: place === 'path',
      }));
  const [params, query] = [inPlace('path'), inPlace('query')];
  const body = operation.requestBody;
  const sent = body && typeOf(body.content['application/json']?.schema ?? {});
  return [
    '{',
    params.length > 0 ? `params: ${fields(params)};` : '',
    query.length > 0 ? `query?: ${fields(query)} | undefined;` : '',
    body ? `body${body.required ? '' : '?'}: ${sent}${body.required ? '' : ' | undefined'};` : '',
    `answer: ${answerType(operation)};`,
    '}',
  ].join('\n');
}

function answerType({ responses }: Operation): string {
  const content = contentOf(responses);
  if (!content) return 'undefined';
  const json = content['application/json'];
  return json ? typeOf(json.schema) : 'string';
}

function isRaw({ responses }: Operation): boolean {
  const content = contentOf(responses) ?? {};
  return 'text/event-stream' in content || 'application/octet-stream' in content;
}

/** The content of a success. */
function contentOf(responses: Operation['responses']) {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  return success?.content;
}
