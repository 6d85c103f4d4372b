import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { hearLines, type Heard, parsed } from '../json-lines.ts';

export type Params = Record<string, unknown>;
export type RequestId = string | number;

export interface Handlers {
  /** A notification, in its order; a promise holds back what comes after it. */
  onNotification(method: string, params: Params): Promise<void> | undefined;
  /** The server asks something; to be answered by `answer` or `refuse`. */
  onRequest(id: RequestId, method: string, params: Params): void;
  /** A message of a thread was too long to be read. */
  onLost(threadId: string): void;
  /** A line that is no message. */
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

/** What codex answers to a request that it refuses. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** Requests, answers and notifications both ways, one a line: JSON-RPC without its name. */
export class Connection {
  /** How far the server's words were heard. */
  readonly heard: Heard;
  readonly #stdin: Writable;
  readonly #handlers: Handlers;
  readonly #asked = new Map<RequestId, PromiseWithResolvers<unknown>>();
  #requests = 0;

  constructor(streams: { stdin: Writable; stdout: Readable }, handlers: Handlers) {
    this.#stdin = streams.stdin;
    this.#handlers = handlers;
    this.heard = hearLines(
      streams.stdout,
      (line) => this.#take(line),
      (head, tail) => this.#lose(head, tail),
    );
  }

  /** Sends a request. Rejects with {@link Refusal}; whoever waits has to see for itself whether the server lives. */
  request(method: string, params: object): Promise<unknown> {
    const request = ++this.#requests;
    const answered = Promise.withResolvers<unknown>();
    this.#asked.set(request, answered);
    this.#send({ id: request, method, params });
    return answered.promise;
  }

  notify(method: string): void {
    this.#send({ method });
  }

  answer(to: RequestId, result: object): void {
    this.#send({ id: to, result });
  }

  refuse(to: RequestId, why: string): void {
    this.#send({ id: to, error: { code: METHOD_NOT_FOUND, message: why } });
  }

  #send(line: object): void {
    if (this.#stdin.writable) this.#stdin.write(`${JSON.stringify(line)}\n`);
  }

  #take(line: string): Promise<void> | undefined {
    if (line.trim() === '') return undefined;
    const json = parsed(line);
    if (json === undefined)
      throw new Error(`it wrote a line that is no JSON: ${line.slice(0, 200)}`);
    const said: Message | undefined = message.safeParse(json).data;
    if (said?.method === undefined) return this.#settle(said);
    if (said.id === undefined) return this.#handlers.onNotification(said.method, said.params);
    this.#handlers.onRequest(said.id, said.method, said.params);
    return undefined;
  }

  /** Whoever waits for an answer acts on it before what comes after it is read. */
  #settle(said: Message | undefined): Promise<void> | undefined {
    const asked = this.#asked.get(said?.id ?? '');
    if (!said || !asked) {
      this.#handlers.onUnknown();
      return undefined;
    }
    this.#asked.delete(said.id ?? '');
    if (said.error) asked.reject(new Refusal(said.error.message));
    else asked.resolve(said.result);
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** Whom a line was for that was too long: only that one is told. Throws where the ends do not say it. */
  #lose(head: string, tail: string): void {
    const answered = /^\{"id":(\d+),"(?:result|error)"/.exec(head)?.[1];
    const asked = this.#asked.get(Number(answered));
    const thread = [...`${head}${tail}`.matchAll(/"threadId":"([^"]+)"/g)].at(-1)?.[1];
    if (asked) asked.reject(new Error('its answer is too long to be read'));
    else if (thread !== undefined) this.#handlers.onLost(thread);
    else throw new Error('a line of it is too long to be read');
  }
}

const METHOD_NOT_FOUND = -32_601;
