import { z } from 'zod';
import {
  type AgentPipes,
  excessOf,
  JsonConnection,
  noteExcess,
  Refusal,
} from '../json-connection.ts';
import { NonProtocolOutput } from '../json-lines.ts';

export interface Handlers {
  /** Takes a message of the stream, in its order; a promise holds back the messages after it. */
  onMessage(message: Message): Promise<void> | undefined;
  /** Takes a request of the agent, which has to be answered by `answer` or `refuse`. */
  onRequest(id: string, request: Record<string, unknown>, connection: Connection): void;
  /** Called when the agent withdraws a request: nobody waits for its answer. */
  onWithdrawn(id: string): void;
  onUnknown(): void;
}

const message = z.looseObject({ type: z.string() });
/** A message of the stream. The code that knows the type reads the other fields. */
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

/** Claude's control protocol: requests and answers both ways, among the messages of the stream. */
export class Connection extends JsonConnection<string> {
  readonly nonProtocol = new NonProtocolOutput();
  readonly #handlers: Handlers;
  #requests = 0;

  constructor(child: AgentPipes, handlers: Handlers) {
    super(child);
    this.#handlers = handlers;
  }

  /** Sends a control request. Settles as `requestAs` does. */
  request(subtype: string, more: object = {}): Promise<unknown> {
    const id = `cadre_${++this.#requests}`;
    const control = { type: 'control_request', request_id: id, request: { subtype, ...more } };
    return this.requestAs(id, control);
  }

  answer(id: string, answer: object): void {
    this.#respond({ subtype: 'success', request_id: id, response: answer });
  }

  refuse(id: string, error: string): void {
    this.#respond({ subtype: 'error', request_id: id, error });
  }

  #respond(answer: object): void {
    this.send({ type: 'control_response', response: answer });
  }

  protected receive(json: unknown, line: string): Promise<void> | undefined {
    const { data } = message.safeParse(json);
    if (data) this.nonProtocol.reset();
    else this.nonProtocol.note(line);
    switch (data?.type) {
      case undefined:
        this.#handlers.onUnknown();
        return undefined;
      case 'control_response':
        return this.#settleBy(data);
      case 'control_request': {
        const asked = request.safeParse(data).data;
        const excess = excessOf(json);
        if (asked && excess) noteExcess(asked.request, excess);
        if (asked) this.#handlers.onRequest(asked.request_id, asked.request, this);
        else this.#handlers.onUnknown();
        return undefined;
      }
      case 'control_cancel_request': {
        const { request_id: id } = data;
        if (typeof id === 'string') this.#handlers.onWithdrawn(id);
        return undefined;
      }
      default:
        return this.#handlers.onMessage(data as Message);
    }
  }

  #settleBy(raw: unknown): Promise<void> | undefined {
    const {
      subtype,
      request_id: id,
      response: result,
      error: why = 'no reason given',
    } = response.safeParse(raw).data?.response ?? {};
    const answer = subtype === 'success' ? { result } : { refusal: new Refusal(why) };
    const settled = this.settle(id ?? '', answer);
    if (settled) return settled;
    this.#handlers.onUnknown();
    return undefined;
  }
}
