import { type AnyMessage, client, RequestError } from '@agentclientprotocol/sdk';
import { z } from 'zod';
import type { Child } from '../../core/children/supervisor.ts';
import { parsedJson } from '../../core/lib/parsed-json.ts';
import { yieldToEventLoop } from '../../core/lib/slices.ts';
import { readJson, lineOf } from '../json-connection.ts';
import { NonProtocolOutput } from '../json-lines.ts';
import { plain } from '../../core/lib/plain.ts';

export interface AcpHandlers {
  /** Takes a `session/update` notification, in the order of the wire; a promise holds back the messages after it. */
  onUpdate(params: unknown): Promise<void> | undefined;
  /** The outcome of a `session/request_permission`. `withdrawn` aborts when the agent withdraws the request. */
  onPermission(params: unknown, withdrawn: AbortSignal): Promise<unknown>;
  /** Answers an `elicitation/create`. `withdrawn` aborts when the agent withdraws the request. */
  onElicitation(params: unknown, withdrawn: AbortSignal): Promise<object>;
  /** Takes an `elicitation/complete`: what a page was opened for is done. */
  onElicitationDone(params: unknown): void;
  /** Takes what an agent says of its login. */
  onAuthStatus(params: unknown): void;
  /** Called for a notification or request of an unknown method. Such requests are refused. */
  onUnknown(): void;
}

export type AcpConnection = ReturnType<typeof connectAcp>;

/** The methods that an agent may use besides `session/update`; the SDK itself handles the last. */
const KNOWN_METHODS = new Set([
  'session/request_permission',
  'elicitation/create',
  'elicitation/complete',
  '$/cancel_request',
]);

/** How agents say whether somebody is logged in: as the drafts of the protocol have it, and as agents do before that. */
const AUTH_STATUS_METHODS = new Set(['auth/status_update', '_auth/status_update']);

/** Parameters that cadre reads itself, because the SDK refuses or drops what it does not know. */
const asItIs = (params: unknown) => params;

const PARSE_ERROR = { code: -32_700, message: 'Parse error' };
const INVALID_REQUEST = { code: -32_600, message: 'Invalid request' };

/**
 * Connects to a child that speaks ACP. The SDK drops updates of kinds that it does not know, so updates are taken off the
 * stream before the SDK sees them, and none is handled after the answer that follows it. The lines are read here as well,
 * so that an error in them is known when the agent is gone.
 */
export function connectAcp(child: Child, handlers: AcpHandlers) {
  const nonProtocol = new NonProtocolOutput();
  const send = (one: object) => {
    const sent = Promise.withResolvers<void>();
    child.stdin.write(lineOf(one), (error) => (error ? sent.reject(error) : sent.resolve()));
    return sent.promise;
  };
  const refuse = (error: object) => {
    child.stdin.write(lineOf({ jsonrpc: '2.0', id: null, error }));
  };
  let messages: ReadableStreamDefaultController<AnyMessage>;
  const readable = new ReadableStream<AnyMessage>({
    start: (controller) => void (messages = controller),
  });
  const take = (json: unknown, line: string): Promise<void> | undefined => {
    const data = readMessage(json, line);
    if (!data) {
      refuse(json === undefined ? PARSE_ERROR : INVALID_REQUEST);
      nonProtocol.note(line);
      return undefined;
    }
    nonProtocol.reset();
    const { method } = data;
    if (method === 'session/update' && !('id' in data)) return handlers.onUpdate(data.params);
    if (typeof method === 'string' && AUTH_STATUS_METHODS.has(method) && !('id' in data)) {
      handlers.onAuthStatus(data.params);
      return undefined;
    }
    if (method !== undefined && !(typeof method === 'string' && KNOWN_METHODS.has(method)))
      handlers.onUnknown();
    messages.enqueue(data as unknown as AnyMessage);
    return method === undefined ? yieldToEventLoop() : undefined;
  };
  const heard = readJson(child.stdout, take);
  const connection = client({ name: 'cadre' })
    .onRequest('session/request_permission', asItIs, async ({ params, signal }) => ({
      outcome: (await handlers.onPermission(params, signal)) as { outcome: 'cancelled' },
    }))
    .onRequest('elicitation/create', asItIs, ({ params, signal }) =>
      handlers.onElicitation(params, signal),
    )
    .onNotification('elicitation/complete', asItIs, ({ params }) =>
      handlers.onElicitationDone(params),
    )
    .connect({ readable, writable: new WritableStream({ write: (one: AnyMessage) => send(one) }) });
  void heard.ended.then((wrong) => {
    try {
      if (wrong === null) messages.close();
      else messages.error(new Error(wrong));
    } catch {
      // The stream was closed by cadre.
    }
  });
  return {
    /** Sends a request. Rejects with the agent's error, or with Error when the connection ends first. */
    request: (method: string, params: object): Promise<unknown> =>
      connection.agent.request(method, params as never),
    notify: (method: string, params: object) => {
      connection.agent.notify(method, params as never).catch(() => undefined);
    },
    close: () => connection.close(),
    readProgress: heard,
    nonProtocol,
  };
}

/** The error that an agent has answered a request with; null for any other failure. */
export function agentError(error: unknown): { code: number; message: string } | null {
  if (!(error instanceof RequestError)) return null;
  const { code, data } = error;
  const reason = reasonIn(data);
  const isNew = reason !== null && !error.message.includes(reason);
  const message = isNew ? [error.message, reason].filter(Boolean).join(': ') : error.message;
  const unnamed = data ? JSON.stringify(data).slice(0, 1000) : 'no reason given';
  return { code, message: message || unnamed };
}

/** One message; the protocol has no batches. */
const message = z.record(z.string(), z.unknown());
const goodError = z.looseObject({ code: z.int(), message: z.string() });
const anyError = z.looseObject({ code: z.int(), message: z.string().catch('') });

const INTERNAL_ERROR = -32_603;
/** The longest reason that is taken from the data of an error, in UTF-16 code units: some agents send a stack. */
const MAX_REASON = 1000;

/**
 * The message in a line, whose answers are as the SDK reads them; null where there is none. `json` is the value of the
 * whole line. Some agents leave marks of a terminal in front: they draw a progress, or set a title.
 */
export function readMessage(json: unknown, line: string): Record<string, unknown> | null {
  const { data } = message.safeParse(json === undefined ? parsedJson(withoutMarks(line)) : json);
  if (!data) return null;
  return data.method === undefined ? readableAnswer(data) : data;
}

/** Words in front of a message may be a log of the messages, so that this one has come already. */
function withoutMarks(line: string): string {
  const at = line.indexOf('{');
  return /[\p{L}\p{N}]/u.test(plain(line.slice(0, Math.max(at, 0)))) ? line : line.slice(at);
}

/** Agents write our ids as texts, an error that is null beside a result, and errors in shapes of their own. */
function readableAnswer({ id, error, ...rest }: Record<string, unknown>): Record<string, unknown> {
  const ours = typeof id === 'string' && /^\d+$/.test(id) ? Number(id) : id;
  const answer = ours === undefined ? rest : { ...rest, id: ours };
  if (error === undefined || (error === null && rest.result !== undefined)) return answer;
  if (goodError.safeParse(error).success) return { ...answer, error };
  const said = anyError.safeParse(error).data ?? { code: INTERNAL_ERROR, message: '' };
  return { ...answer, error: { code: said.code, message: said.message, data: error } };
}

/** Returns the reason in the data of an error, where many agents write it. Null if the data has no text. */
function reasonIn(data: unknown): string | null {
  if (typeof data === 'string') return data.trim() === '' ? null : data.trim().slice(0, MAX_REASON);
  if (typeof data !== 'object' || data === null) return null;
  const { details, detail, message: said, reason, error } = message.safeParse(data).data ?? {};
  const parts = Array.isArray(data) ? data : [details, detail, said, reason, error];
  for (const part of parts) {
    const found = reasonIn(part);
    if (found !== null) return found;
  }
  return null;
}
