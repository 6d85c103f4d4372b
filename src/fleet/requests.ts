import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { errorMessage } from '../core/lib/error-message.ts';
import { parsedJson } from '../core/lib/parsed-json.ts';
import { askerOf, INBOXES, type Names, PASSED_ANSWERS } from './names.ts';

/** A request as it travels: what HTTP has in its first line, and a body. */
const fleetRequest = z.object({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
  /** The path, with the query. */
  path: z.string().startsWith('/'),
  body: z.unknown().exactOptional(),
  /** The idempotency key of a change. */
  key: z.string().exactOptional(),
});

export type FleetRequest = z.output<typeof fleetRequest>;

/** The answer to it. `body`: null where there is none; a text where the endpoint answers with one. */
const fleetAnswer = z.object({
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.unknown(),
});

export type FleetAnswer = z.output<typeof fleetAnswer>;

/** The answer in a text. Null if the text has another form. */
export function readAnswer(text: string): FleetAnswer | null {
  return fleetAnswer.safeParse(parsedJson(text)).data ?? null;
}

/**
 * Answers a request by the server's own endpoints: `text` is JSON, unless the content type is another. `asker`: who asks,
 * by the subject of the request, which NATS's permissions guard.
 */
export type Ask = (
  request: FleetRequest,
  asker: { scope: 'admin' | 'read'; user: string },
) => Promise<{ status: number; headers: Record<string, string>; text: string }>;

/** The headers that a response keeps. */
const KEPT_HEADERS = /^(x-|idempotency-replayed$|content-type$)/;

/**
 * Answers the requests to a node until `signal` aborts. While `isOurs` says no, nothing is answered: the name may be
 * another server's by then, and the client asks again. Nor is what wants its answer anywhere but in an inbox: with the
 * rights of this node it would be written where whoever asked may not write.
 */
export function serveRequests(deps: {
  connection: NatsConnection;
  names: Names;
  node: string;
  ask: Ask;
  isOurs: () => boolean;
  signal: AbortSignal;
}): void {
  const { connection, names, node, ask, isOurs, signal } = deps;
  const subscription = connection.subscribe(names.requestsOf(node), {
    callback: (error, message) => {
      const reply = message.reply ?? '';
      const isAsked = reply.startsWith(INBOXES) || reply.startsWith(PASSED_ANSWERS);
      if (error === null && isAsked && isOurs()) void respond(message, ask, connection);
    },
  });
  signal.addEventListener('abort', () => subscription.unsubscribe(), { once: true });
}

/** The most bytes that a message may have, as NATS is configured. */
export function limitOf(connection: NatsConnection): number {
  return connection.info?.max_payload ?? 1024 * 1024;
}

async function respond(message: Msg, ask: Ask, connection: NatsConnection): Promise<void> {
  const bytes = Buffer.from(await answerTo(message, ask));
  // Whoever asked asks again: on the next connection, or the next node of this name.
  if (connection.isClosed()) return;
  const maxBytes = limitOf(connection);
  if (bytes.length <= maxBytes) message.respond(bytes);
  else
    message.respond(
      refusal(
        413,
        'payload_too_large',
        `the response is too large: ${bytes.length} bytes (limit of NATS ${maxBytes}): pass a smaller limit, or raise max_payload of nats-server`,
      ),
    );
}

async function answerTo(message: Msg, ask: Ask): Promise<string> {
  const asker = askerOf(message.subject);
  const { data: request } = fleetRequest.safeParse(parsedJson(message.string()));
  if (asker === null || request === undefined)
    return refusal(400, 'invalid', 'invalid fleet request: expected {method, path, body, key}');
  const { scope, user } = asker;
  if (scope === 'peer')
    return refusal(
      403,
      'forbidden_scope',
      'requests between nodes are not supported in this version',
    );
  try {
    const { status, headers, text } = await ask(request, { scope, user });
    const kept = Object.entries(headers).filter(([name]) => KEPT_HEADERS.test(name));
    const isJson = headers['content-type']?.startsWith('application/json') === true;
    const body = text === '' ? 'null' : isJson ? text : JSON.stringify(text);
    return `{"status":${status},"headers":${JSON.stringify(Object.fromEntries(kept))},"body":${body}}`;
  } catch (error) {
    // JSON is read at any depth, but not written.
    if (error instanceof RangeError)
      return refusal(400, 'invalid', 'the body of the fleet request is nested too deeply');
    return refusal(500, 'internal', errorMessage(error));
  }
}

function refusal(status: number, code: string, error: string): string {
  const answer: FleetAnswer = { status, headers: {}, body: { error, code } };
  return JSON.stringify(answer);
}
