import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { hearLines, type Heard, parsed, StrayLines } from '../json-lines.ts';

export interface Handlers {
  /** A message of the stream, in its order; a promise holds back what comes after it. */
  onMessage(message: Message): Promise<void> | undefined;
  /** The agent asks something; to be answered by `answer` or `refuse`. */
  onRequest(id: string, request: Record<string, unknown>, connection: Connection): void;
  /** The agent takes a request back: nobody waits for its answer. */
  onWithdrawn(id: string): void;
  /** A line that is no message at all. */
  onUnknown(): void;
}

const message = z.looseObject({ type: z.string() });
/** A message of the stream: what it says besides its type is read by whoever knows the type. */
export type Message = z.output<typeof message>;

const response = z.looseObject({
  response: z.looseObject({
    subtype: z.string(),
    request_id: z.string(),
    response: z.unknown().optional(),
    error: z.string().optional(),
  }),
});
const request = z.looseObject({
  request_id: z.string(),
  request: z.record(z.string(), z.unknown()),
});
const withdrawal = z.looseObject({ request_id: z.string() });

/** What claude answers to a request that it refuses. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** Claude's control protocol: JSON lines both ways, requests and answers among the messages of the stream. */
export class Connection {
  /** How far the agent's words were heard. */
  readonly heard: Heard;
  readonly strays = new StrayLines();
  readonly #stdin: Writable;
  readonly #handlers: Handlers;
  readonly #asked = new Map<string, PromiseWithResolvers<unknown>>();
  #requests = 0;

  constructor(streams: { stdin: Writable; stdout: Readable }, handlers: Handlers) {
    this.#stdin = streams.stdin;
    this.#handlers = handlers;
    this.heard = hearLines(streams.stdout, (line) => this.#take(line));
  }

  /** Sends a control request. Rejects with {@link Refusal}; whoever waits has to see for itself whether the agent lives. */
  request(subtype: string, more: object = {}): Promise<unknown> {
    const id = `cadre_${++this.#requests}`;
    const answered = Promise.withResolvers<unknown>();
    this.#asked.set(id, answered);
    this.send({ type: 'control_request', request_id: id, request: { subtype, ...more } });
    return answered.promise;
  }

  answer(id: string, answer: object): void {
    this.#respond({ subtype: 'success', request_id: id, response: answer });
  }

  refuse(id: string, error: string): void {
    this.#respond({ subtype: 'error', request_id: id, error });
  }

  send(line: object): void {
    if (this.#stdin.writable) this.#stdin.write(`${JSON.stringify(line)}\n`);
  }

  #respond(given: object): void {
    this.send({ type: 'control_response', response: given });
  }

  #take(line: string): Promise<void> | undefined {
    if (line.trim() === '') return undefined;
    const { data } = message.safeParse(parsed(line));
    if (data) this.strays.reset();
    else this.strays.note(line);
    switch (data?.type) {
      case undefined:
        this.#handlers.onUnknown();
        return undefined;
      case 'control_response':
        return this.#settle(data);
      case 'control_request': {
        const asked = request.safeParse(data).data;
        if (asked) this.#handlers.onRequest(asked.request_id, asked.request, this);
        else this.#handlers.onUnknown();
        return undefined;
      }
      case 'control_cancel_request': {
        const id = withdrawal.safeParse(data).data?.request_id;
        if (id !== undefined) this.#handlers.onWithdrawn(id);
        return undefined;
      }
      default:
        return this.#handlers.onMessage(data as Message);
    }
  }

  /** Whoever waits for an answer acts on it before what comes after it is read. */
  #settle(raw: unknown): Promise<void> | undefined {
    const answer = response.safeParse(raw).data?.response;
    const asked = this.#asked.get(answer?.request_id ?? '');
    if (!answer || !asked) {
      this.#handlers.onUnknown();
      return undefined;
    }
    this.#asked.delete(answer.request_id);
    if (answer.subtype === 'success') asked.resolve(answer.response);
    else asked.reject(new Refusal(answer.error ?? 'it does not say why'));
    return new Promise((resolve) => setImmediate(resolve));
  }
}
