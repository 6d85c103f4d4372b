import type { z } from 'zod';
import type { ServerErrorCode } from '../../src/api/errors.ts';
import { errorBody, unauthorizedBody } from '../../src/api/common.ts';
import type { Endpoint } from '../../src/api/endpoint.ts';
import { refusals, statusOf, unreadRefusals } from '../../src/api/refusals.ts';

/** The components that operations share, by name. */
export interface Components {
  schemas: Record<string, Record<string, unknown>>;
  responses: Record<string, object>;
}

type Describe = (schema: z.ZodType) => Record<string, unknown>;

const text = { type: 'string' };
const seq = { type: 'integer', minimum: 0 };

/** The headers of responses. */
export const responseHeaders = {
  'X-Request-Id': {
    description: 'X-Request-Id of the request, or an id that the server generated.',
    required: true,
    schema: text,
  },
  'X-Epoch': {
    description: 'Id of the event log. It changes when the log is replaced.',
    required: true,
    schema: text,
  },
  'X-Seq': {
    description:
      'Sequence number (seq) of the last event that the response includes. Stream the events after it to miss nothing.',
    required: true,
    schema: seq,
  },
  'X-Next-Cursor': {
    description: 'Cursor of the next page. Absent on the last page.',
    schema: text,
  },
  'X-Next-After-Seq': {
    description: 'Value of after_seq for the next page. Absent on the last page.',
    schema: seq,
  },
  'X-Trimmed-Seq': {
    description:
      'Highest sequence number that retention deleted after the requested after_seq. Absent if it deleted none.',
    schema: seq,
  },
  'Idempotency-Replayed': {
    description: 'Present if the request was executed before and this is the stored response.',
    schema: { const: 'true' },
  },
};

/** The responses of an endpoint, by status: its success and its errors. */
export function responsesOf(
  endpoint: Endpoint,
  components: Components,
  describe: Describe,
): Record<string, object> {
  const codes = codesOf(endpoint);
  const ownStatus = (code: ServerErrorCode) => statusOf(code, endpoint.statuses);
  const statuses = [...new Set(codes.map(ownStatus))].toSorted((a, b) => a - b);
  return {
    [endpoint.status]: success(endpoint, describe),
    ...Object.fromEntries(
      statuses.map((status) => {
        const own = codes.filter((code) => ownStatus(code) === status);
        return [status, shared(own, refusal(status, own, endpoint, describe), components)];
      }),
    ),
    ...unread(components, describe),
  };
}

function success(endpoint: Endpoint, describe: Describe): object {
  const { method, access, query, status, answers } = endpoint;
  // A client without a token does not learn how many events there are.
  const isOpen = access === 'public';
  const headers = [
    'X-Request-Id',
    ...(isOpen ? [] : ['X-Epoch']),
    ...(!isOpen && (method === 'GET' || answers === 'bytes') ? ['X-Seq'] : []),
    ...('cursor' in query ? ['X-Next-Cursor'] : []),
    ...('after_seq' in query && answers === 'json' ? ['X-Next-After-Seq', 'X-Trimmed-Seq'] : []),
    ...(takesKey(endpoint) ? ['Idempotency-Replayed'] : []),
  ];
  return {
    description: { 200: 'Done.', 202: 'Accepted, but not finished yet.', 204: 'Done.' }[status],
    headers: referred(headers),
    ...(status === 204 ? {} : { content: contentOf(endpoint, describe) }),
  };
}

function contentOf(endpoint: Endpoint, describe: Describe): Record<string, object> {
  const { answers, response } = endpoint;
  switch (answers) {
    case 'json':
      return { 'application/json': { schema: describe(response) } };
    case 'stream':
      return { 'text/event-stream': { schema: framesOf(endpoint, describe) } };
    case 'text': {
      const { contentType, isObject } = response.meta() ?? {};
      return { [String(contentType)]: { schema: isObject ? { type: 'object' } : text } };
    }
    case 'bytes': {
      const contentMediaType = 'application/octet-stream';
      return { [contentMediaType]: { schema: { ...text, contentMediaType } } };
    }
  }
}

/** The schema of a stream: a text of frames; the data of each frame is the JSON text of a record. */
function framesOf({ response, frames }: Endpoint, describe: Describe): object {
  const frame = (properties: object, record: z.ZodType) => {
    const contentSchema = describe(record);
    const data = { ...text, contentMediaType: 'application/json', contentSchema };
    return {
      type: 'object',
      properties: { ...properties, data },
      required: [...Object.keys(properties), 'data'],
      additionalProperties: false,
    };
  };
  const id = {
    ...text,
    pattern: '^\\d+$',
    description: 'Last-Event-ID to continue after this frame.',
  };
  const others = Object.entries(frames).map(([event, record]) =>
    frame({ event: { const: event } }, record),
  );
  return {
    ...text,
    description:
      'Server-Sent Events: `retry: 1000`, then frames. Every 10 seconds, a comment `: ping` contains the newest seq.',
    contentMediaType: 'text/event-stream',
    contentSchema: {
      type: 'array',
      items: { anyOf: [frame({ id, event: text }, response), ...others] },
    },
  };
}

/** Returns the error codes of an endpoint: its own codes, and the codes that all endpoints of its sort share. */
export function codesOf(endpoint: Endpoint): ServerErrorCode[] {
  const { method, access, answers, errors } = endpoint;
  const isOpen = access === 'public';
  const changes = method !== 'GET';
  return [
    ...new Set<ServerErrorCode>([
      'invalid',
      ...(isOpen ? [] : (['unauthorized'] as const)),
      'forbidden_host',
      'forbidden_origin',
      // For a token of the scope `read` or `tools`.
      ...(isOpen || (access === 'gateway' && !changes) ? [] : (['forbidden_scope'] as const)),
      ...errors,
      ...(takesKey(endpoint) ? (['idempotency_conflict'] as const) : []),
      ...(changes ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
      ...(answers === 'stream' ? (['too_many'] as const) : []),
      'internal',
      ...(isOpen ? [] : (['storage_full', 'storage_damaged'] as const)),
      ...(changes ? (['shutting_down'] as const) : []),
    ]),
  ];
}

function refusal(
  status: number,
  codes: readonly ServerErrorCode[],
  endpoint: Endpoint,
  describe: Describe,
): object {
  const schema = status === 401 ? describe(unauthorizedBody) : errorSchema(codes, describe);
  return {
    description: codes.map((code) => `\`${code}\`: ${refusals[code].when}.`).join('\n'),
    headers: referred([
      'X-Request-Id',
      ...(status === 409 && takesKey(endpoint) ? ['Idempotency-Replayed'] : []),
    ]),
    content: { 'application/json': { schema } },
  };
}

function errorSchema(codes: readonly ServerErrorCode[], describe: Describe): object {
  return { ...describe(errorBody), type: 'object', properties: { code: { enum: codes } } };
}

/** The refusals of a request that cannot be read, which every endpoint has and which have no headers. */
function unread({ responses }: Components, describe: Describe): Record<string, object> {
  return Object.fromEntries(
    Object.entries(unreadRefusals).map(([status, { name, when }]) => {
      responses[name] ??= {
        description: `\`invalid\`: ${when}.`,
        content: { 'application/json': { schema: errorSchema(['invalid'], describe) } },
      };
      return [status, { $ref: `#/components/responses/${name}` }];
    }),
  );
}

/** Refers to a shared component for a refusal with few codes, which several endpoints have; others stay in place. */
function shared(
  codes: readonly ServerErrorCode[],
  response: object,
  { responses }: Components,
): object {
  if (codes.length > 3) return response;
  const name = codes.map(capitalised).join('Or');
  responses[name] ??= response;
  return { $ref: `#/components/responses/${name}` };
}

function capitalised(code: string): string {
  return code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function referred(headers: readonly string[]): Record<string, object> {
  return Object.fromEntries(
    headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

/** Whether an endpoint stores its responses for an Idempotency-Key. */
export function takesKey({ method, secret, access }: Endpoint): boolean {
  return method === 'POST' && !secret && access !== 'gateway';
}
