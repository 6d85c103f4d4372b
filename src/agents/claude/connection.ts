import { z } from 'zod';
import { newUuid } from '../../core/lib/ids.ts';
import type { StoredInputItem } from '../../api/input.ts';
import type { AttachedRequest, AttachedTurn } from '../attached-turn.ts';
import type { BoundedLine } from '../bounded-line.ts';
import { imageData } from '../image-data.ts';
import {
  type AgentPipes,
  excessOf,
  JsonConnection,
  lineOf,
  noteExcess,
  OpenRequests,
  Refusal,
} from '../json-connection.ts';
import { NonProtocolOutput } from '../json-lines.ts';
import { maybeText } from '../lenient.ts';
import type { AskedRequest, OutputLine, OutputLines } from '../output-lines.ts';

export interface Handlers {
  /** The lines that are being processed; each handler gets the line of its message. */
  readonly lines: OutputLines;
  /** Takes a message of the stream, in its order; a promise holds back the messages after it. */
  onMessage(message: Message, line: OutputLine): Promise<void> | undefined;
  /**
   * Begins to answer a request of the agent at once, in the order of the wire. Resolves with null if nobody waits for
   * the answer. Rejects with {@link Refusal} if the request is refused.
   */
  onRequest(request: Record<string, unknown>, asked: AskedRequest): Promise<object | null>;
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
    error: maybeText,
  }),
});
const request = z.looseObject({
  request_id: z.string(),
  request: z.record(z.string(), z.unknown()),
});

/** Each id of a control request of cadre begins with this. */
const OWN_IDS = 'cadre_';

/** Claude's control protocol: requests and answers both ways, among the messages of the stream. */
export class Connection extends JsonConnection<string> {
  readonly nonProtocol = new NonProtocolOutput();
  readonly #handlers: Handlers;
  /** An earlier server may have sent requests whose answers still come, so its ids differ. */
  readonly #run = newUuid().slice(0, 8);
  readonly #asked = new OpenRequests<string>();
  #requests = 0;

  /** `from`: the offset in the output from which the lines are read. */
  constructor(child: AgentPipes, handlers: Handlers, from = 0) {
    super(child, { from });
    this.#handlers = handlers;
  }

  /** Sends a control request. Settles as `requestAs` does. */
  request(subtype: string, more: object = {}): Promise<unknown> {
    const id = `${OWN_IDS}${this.#run}_${++this.#requests}`;
    const control = { type: 'control_request', request_id: id, request: { subtype, ...more } };
    return this.requestAs(id, control);
  }

  prompt(content: object[]): void {
    this.#queue({
      type: 'user',
      message: { role: 'user', content },
      parent_tool_use_id: null,
      session_id: '',
    });
  }

  /** Sends a message that the agent must get once. */
  #queue(message: object, about: { answers?: string; hold?: Disposable } = {}): void {
    const line = lineOf(message);
    this.#handlers.lines.send(line, about, (key) => this.write(line, key));
  }

  /** Sends the messages of an earlier server that the agent may not have got, and answers its requests. */
  resume(
    { messages, requests }: AttachedTurn,
    answer: (request: AttachedRequest, withdrawn: AbortSignal) => Promise<object | null>,
  ): void {
    this.resend(messages);
    for (const request of requests)
      void this.#answerBy(request.key, {}, (withdrawn) => answer(request, withdrawn));
  }

  /** To be called when the agent is gone. */
  withdrawAll(): void {
    this.#asked.withdrawAll();
  }

  protected receive(json: unknown, text: string, line: BoundedLine): Promise<void> | undefined {
    const begun = this.#handlers.lines.begin(line);
    return begun.during(() => this.#handle(json, text, begun));
  }

  #handle(json: unknown, text: string, line: OutputLine): Promise<void> | undefined {
    const { data } = message.safeParse(json);
    const excess = excessOf(json);
    if (excess) noteExcess(data, excess);
    if (data) this.nonProtocol.reset();
    else this.nonProtocol.note(text);
    switch (data?.type) {
      case undefined:
        this.#handlers.onUnknown();
        return undefined;
      case 'control_response':
        return this.#settleBy(data);
      case 'control_request': {
        const asked = request.safeParse(data).data;
        if (asked && excess) noteExcess(asked.request, excess);
        if (asked) this.#answer(asked, line);
        else this.#handlers.onUnknown();
        return undefined;
      }
      case 'control_cancel_request': {
        const { request_id: id } = data;
        if (typeof id === 'string') this.#asked.withdraw(id);
        return undefined;
      }
      default:
        return this.#handlers.onMessage(data as Message, line);
    }
  }

  #answer({ request_id: key, request: body }: z.output<typeof request>, line: OutputLine): void {
    if (line.isDone) return;
    const hold = line.hold();
    const decide = (withdrawn: AbortSignal) =>
      this.#handlers.onRequest(body, { line, key, withdrawn, hold });
    void this.#answerBy(key, { hold }, decide).finally(() => hold[Symbol.dispose]());
  }

  /** Answers a request, unless the agent withdraws it before that. */
  #answerBy(
    id: string,
    about: { hold?: Disposable },
    decide: (withdrawn: AbortSignal) => Promise<object | null>,
  ): Promise<void> {
    const response = (withdrawn: AbortSignal) =>
      decide(withdrawn).then(
        (answer) => answer && { subtype: 'success', request_id: id, response: answer },
        (error: unknown) => ({ subtype: 'error', request_id: id, error: (error as Error).message }),
      );
    return this.#asked.answer(id, response, (answer) => {
      if (answer)
        this.#queue({ type: 'control_response', response: answer }, { ...about, answers: id });
    });
  }

  #settleBy(raw: unknown): Promise<void> | undefined {
    const {
      subtype,
      request_id: id = '',
      response: result,
      error,
    } = response.safeParse(raw).data?.response ?? {};
    const refusal = new Refusal(error ?? 'no reason given');
    const answer = subtype === 'success' ? { result } : { refusal };
    const settled = this.settle(id, answer);
    if (settled) return settled;
    if (!id.startsWith(OWN_IDS)) this.#handlers.onUnknown();
    return undefined;
  }
}

/** Returns an item of a prompt in claude's words. */
export async function contentOf(item: StoredInputItem): Promise<object> {
  if (item.type === 'text') return { type: 'text', text: item.text };
  const data = await imageData('claude', item);
  return { type: 'image', source: { type: 'base64', media_type: item.media_type, data } };
}
