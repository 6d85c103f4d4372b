import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { excessOf, JsonConnection, noteExcess } from '../json-connection.ts';
import { type ReadProgress, MAX_LINE_BYTES, MAX_SHARED_LINE_BYTES } from '../json-lines.ts';

export type Params = Record<string, unknown>;
export type RequestId = string | number;

export interface Handlers {
  /** Takes a notification, in its order; a promise holds back the messages after it. */
  onNotification(method: string, params: Params): Promise<void> | undefined;
  /** Takes a request of the server, which has to be answered by `answer` or `refuse`. */
  onRequest(id: RequestId, method: string, params: Params): void;
  /** Called where a message of a thread was too long to be read. */
  onLost(threadId: string): void;
  /** Called for a line of JSON that is no message. */
  onUnknown(): void;
}

const id = z.union([z.string(), z.number()]);
const message = z.looseObject({
  id: id.optional().catch(undefined),
  method: z.string().optional().catch(undefined),
  params: z.record(z.string(), z.unknown()).catch({}),
  error: z.looseObject({ message: z.string() }).optional().catch(undefined),
  result: z.unknown().optional(),
});
type Message = z.output<typeof message>;

/** Requests, answers and notifications both ways: JSON-RPC without its name. */
export class Connection {
  readonly #json: JsonConnection<RequestId>;
  readonly #handlers: Handlers;
  #requests = 0;

  constructor(streams: { stdin: Writable; stdout: Readable }, handlers: Handlers) {
    this.#handlers = handlers;
    const take = (json: unknown, line: string) => this.#take(json, line);
    this.#json = new JsonConnection(streams, take, MAX_SHARED_LINE_BYTES);
  }

  /** How far the server's output was read. */
  get readProgress(): ReadProgress {
    return this.#json.readProgress;
  }

  /** Sends a request. Settles as `JsonConnection.request` does. */
  request(method: string, params: object): Promise<unknown> {
    const request = ++this.#requests;
    return this.#json.request(request, { id: request, method, params });
  }

  notify(method: string): void {
    this.#json.send({ method });
  }

  answer(to: RequestId, result: object): void {
    this.#json.send({ id: to, result });
  }

  refuse(to: RequestId, why: string): void {
    this.#json.send({ id: to, error: { code: METHOD_NOT_FOUND, message: why } });
  }

  #take(json: unknown, line: string): Promise<void> | undefined {
    if (json === undefined)
      throw new Error(`codex sent a line that is not JSON: ${line.slice(0, 200)}`);
    const said: Message | undefined = message.safeParse(json).data;
    const excess = excessOf(json);
    if (excess && excess.bytes > MAX_LINE_BYTES) return this.#lose(said);
    if (said?.method === undefined) return this.#settle(said);
    if (excess) noteExcess(said.params, excess);
    if (said.id === undefined) return this.#handlers.onNotification(said.method, said.params);
    this.#handlers.onRequest(said.id, said.method, said.params);
    return undefined;
  }

  #settle(said: Message | undefined): Promise<void> | undefined {
    const answer = said?.error ? { refusal: said.error.message } : { result: said?.result };
    const settled = this.#json.settle(said?.id ?? '', answer);
    if (settled) return settled;
    this.#handlers.onUnknown();
    return undefined;
  }

  /** A line is too long to be read: it is lost for the request or the thread that it names. Throws where it names none. */
  #lose(said: Message | undefined): undefined {
    const { threadId: thread } = said?.params ?? {};
    if (said?.method === undefined && this.#json.fail(Number(said?.id), 'the response is too long'))
      return;
    if (typeof thread !== 'string') throw new Error('codex sent a line that is too long');
    this.#handlers.onLost(thread);
  }
}

const METHOD_NOT_FOUND = -32_601;
