import { createRequire } from 'node:module';
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import type { SchemaValidateFunction } from 'ajv/dist/types/index.js';
import { parse } from 'yaml';
import type { Answer } from './answer-files.ts';

/** Fault of a response, and its request: an operation of the description, or a path. */
export interface AnswerCheck {
  request: string;
  wrong: string[];
}

type Json = Record<string, unknown>;
interface Response {
  headers?: Record<string, Json>;
  content?: Record<string, { schema: Json }>;
}
interface Discriminator {
  propertyName: string;
  mapping: Record<string, string>;
}
interface Operation {
  request: string;
  pattern: RegExp;
  responses: Record<string, Json>;
}

const NAME = 'openapi.yaml';
/**
 * Valid responses are remembered: every subscriber of a stream receives the same frames, every reader the same errors and
 * the same description.
 */
const MAX_REMEMBERED = 10_000;

/**
 * Checks responses against openapi.yaml more strictly than the specification: an undescribed field, header or kind of
 * event is a fault.
 */
export class DescribedAnswers {
  readonly #document: Json;
  readonly #operations: Operation[];
  readonly #validators = new Map<Json, ValidateFunction>();
  readonly #good = new Map<Json, Set<string>>();
  #compiler: Ajv2020 | undefined;

  constructor(description: object) {
    this.#document = withoutNewer(readable(description) as Json);
    this.#operations = operationsOf(this.#document.paths as Record<string, Json>);
  }

  check(answer: Answer): AnswerCheck {
    const { method, url, status } = answer;
    // The preflight request of a browser is not described, because it is the same for every path.
    if (method === 'OPTIONS' && status === 204) return { request: 'OPTIONS', wrong: [] };
    const described = method === 'HEAD' ? 'GET' : method;
    const path = pathOf(url);
    // The page of a link is for users in a browser, and not part of the API.
    if (/^\/answer\/[^/]*$/.test(path)) return { request: `${method} /answer/`, wrong: [] };
    const operation = this.#operations.find(
      ({ request, pattern }) => request.startsWith(`${described} `) && pattern.test(path),
    );
    // A literal path does not have the methods of a path with parameters that also matches it.
    if (!operation || status === 405) {
      const wrong =
        status < 400 ? ['is a success of no operation'] : this.#wrong(answer, refusal(status));
      return { request: `${method} ${path}`, wrong };
    }
    const response = operation.responses[status];
    const wrong = response
      ? this.#wrong(answer, this.#resolved(response))
      : [`answers ${status}, which is not described`];
    return { request: operation.request, wrong };
  }

  #wrong(answer: Answer, described: Response): string[] {
    return [...this.#wrongHeaders(answer, described), ...this.#wrongBody(answer, described)];
  }

  #wrongHeaders({ headers, status }: Answer, described: Response): string[] {
    const known = (this.#document.components as Json).headers as Json;
    return Object.keys(known).flatMap((name) => {
      const given = headers[name.toLowerCase()];
      const entry = described.headers?.[name];
      if (!entry) return given === undefined || status >= 400 ? [] : [`${name} is not described`];
      const { required, schema } = this.#resolved(entry) as { required?: boolean; schema: Json };
      if (given === undefined) return required ? [`has no ${name}`] : [];
      const value = schema.type === 'integer' ? Number(given) : given;
      return this.#faults(schema, value).map((fault) => `${name} ${fault}`);
    });
  }

  #wrongBody({ method, headers, body }: Answer, { content }: Response): string[] {
    if (body === null || method === 'HEAD') return [];
    if (!content) return body === '' ? [] : ['has a body'];
    const type = String(headers['content-type']).split(';')[0] ?? '';
    const schema = content[type]?.schema;
    if (!schema) return [`is ${type}`];
    if (type === 'text/event-stream')
      return body.split('\n\n').flatMap((frame) =>
        this.#unlessGood(schema, frame, () => {
          const value = frameIn(frame);
          return value ? this.#faults(schema, [value]) : [];
        }),
      );
    return this.#unlessGood(schema, body, () => {
      try {
        return this.#faults(schema, readers[type]?.(body) ?? body);
      } catch (error) {
        return [`is no ${type.includes('yaml') ? 'YAML' : 'JSON'}: ${(error as Error).message}`];
      }
    });
  }

  /** Returns the faults of a text that a schema describes. Skips texts that were valid before. */
  #unlessGood(schema: Json, text: string, faultsOf: () => string[]): string[] {
    const good = this.#good.get(schema) ?? new Set();
    this.#good.set(schema, good);
    if (good.has(text)) return [];
    const faults = faultsOf();
    if (good.size === MAX_REMEMBERED) good.clear();
    if (faults.length === 0) good.add(text);
    return faults;
  }

  #faults(schema: Json, value: unknown): string[] {
    const validate = this.#validators.get(schema) ?? this.#compile(schema);
    this.#validators.set(schema, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).slice(0, 5).map(({ instancePath, message, params }) => {
      const place = instancePath.replaceAll(/\/\d+(?=\/|$)/g, '/*') || 'the whole';
      const what = Object.values(params as Json).filter((part) => typeof part === 'string');
      return `${place} ${message} (${what.join(', ')})${eventAt(value, instancePath)}`;
    });
  }

  #compile(schema: Json): ValidateFunction {
    this.#compiler ??= compilerWith(this.#document);
    return this.#compiler.compile(schema);
  }

  #resolved(part: Json): Json {
    if (typeof part.$ref !== 'string') return part;
    const steps = part.$ref.replace(`${NAME}#/`, '').split('/');
    return steps.reduce((at, step) => at[step] as Json, this.#document);
  }
}

/** Returns the kind of the event at a path, for the message of a fault. */
function eventAt(value: unknown, path: string): string {
  let at = value as Json | undefined;
  for (const step of path.split('/').slice(1)) {
    if (typeof at?.kind === 'string' && 'seq' in at) return ` in ${at.kind}`;
    at = at?.[step] as Json | undefined;
  }
  return '';
}

/** A schema describes the parsed body, not its text. */
const readers: Record<string, (body: string) => unknown> = {
  'application/json': JSON.parse,
  'application/yaml': parse,
};

/** Makes the description strict: no additional fields, and texts with a content schema are parsed. */
function readable(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(readable);
  if (part === null || typeof part !== 'object') return part;
  const schema = part as Json;
  if (schema.contentSchema) return readable(schema.contentSchema);
  // The errors are those that the intended alternative reports.
  if (schema.discriminator) return { meant: schema.discriminator };
  const entries = Object.entries(schema).map(([key, value]) => [
    key,
    key === '$ref' ? `${NAME}${String(value)}` : readable(value),
  ]);
  const isLoose = 'properties' in schema && JSON.stringify(schema.additionalProperties) === '{}';
  return { ...Object.fromEntries(entries), ...(isLoose ? { additionalProperties: false } : {}) };
}

/** Permits only events of known kinds, because the servers of a run have the current version. */
function withoutNewer(document: Json): Json {
  const components = document.components as { schemas: Json };
  const RuntimeEventRecord = { $ref: `${NAME}#/components/schemas/DescribedEvent` };
  const schemas = { ...components.schemas, RuntimeEventRecord };
  return { ...document, components: { ...components, schemas } };
}

/** Paths without parameters come first, because they take precedence. */
function operationsOf(paths: Record<string, Json>): Operation[] {
  return Object.entries(paths)
    .toSorted(([a], [b]) => a.split('{').length - b.split('{').length)
    .flatMap(([template, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        request: `${method.toUpperCase()} ${template}`,
        pattern: new RegExp(
          `^${template.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+')}$`,
        ),
        responses: (operation as Operation).responses,
      })),
    );
}

function pathOf(url: string): string {
  const path = url.replace(/^https?:\/\/[^/]*/i, '').split(/[?#]/)[0] ?? '';
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** Response if the path has no operation. */
function refusal(status: number): Response {
  const $ref = `${NAME}#/components/schemas/${status === 401 ? 'Unauthorized' : 'Error'}`;
  return {
    headers: { 'X-Request-Id': { $ref: `${NAME}#/components/headers/X-Request-Id` } },
    content: { 'application/json': { schema: { $ref } } },
  };
}

/** A frame with parsed data. Null for a comment or a frame with only a retry time. */
function frameIn(text: string): Json | null {
  const fields = text
    .split('\n')
    .map((line) => /^(\w+): ([^]*)$/.exec(line))
    .flatMap((match) => (match && match[1] !== 'retry' ? [[match[1] ?? '', match[2] ?? '']] : []));
  if (fields.length === 0) return null;
  const frame = Object.fromEntries(fields) as Json;
  return 'data' in frame ? { ...frame, data: JSON.parse(String(frame.data)) as unknown } : frame;
}

/** Loaded at the first check, because many processes of a run serve nothing. */
function compilerWith(document: Json): Ajv2020 {
  const require = createRequire(import.meta.url);
  const { Ajv2020: Compiler } = require('ajv/dist/2020') as typeof import('ajv/dist/2020.js');
  // Most schemas check a few dozen responses, so that an optimization of their code takes longer than it saves.
  const code = { optimize: false };
  const options = { strict: false, validateFormats: false, validateSchema: false };
  const compiler = new Compiler({ ...options, code, inlineRefs: false });
  // Each alternative is compiled at its first use, because there are many and most processes need few.
  const isMeant: SchemaValidateFunction = (
    { propertyName, mapping }: Discriminator,
    value: Json,
    _schema,
    context,
  ) => {
    const name = String(value[propertyName]);
    const validate = compiler.getSchema(`${NAME}${mapping[name]}`);
    isMeant.errors = [{ message: `is of no ${propertyName} that is described`, params: { name } }];
    if (!validate) return false;
    const isValid = validate(value, context) as boolean;
    isMeant.errors = validate.errors ?? [];
    return isValid;
  };
  compiler.addKeyword({ keyword: 'meant', type: 'object', validate: isMeant, errors: 'full' });
  return compiler.addSchema(document, NAME);
}
