import type { Readable } from 'node:stream';
import type { Child } from '../core/children/supervisor.ts';
import type { UnsentMessage } from './attached-turn.ts';
import type { BoundedLine, Excess } from './bounded-line.ts';
import { parsedJson } from '../core/lib/parsed-json.ts';
import { type LinesRange, readJsonLines, type ReadProgress } from './json-lines.ts';
import { yieldToEventLoop } from '../core/lib/slices.ts';
import { isObject } from './lenient.ts';

export class Refusal extends Error {
  override readonly name = 'Refusal';
}

export type AgentPipes = Pick<Child, 'stdin' | 'stdout' | 'writeInput'>;

/** Handles the value of a line, in order; undefined for a line that is not JSON. A promise delays the next line. */
type TakeJson = (json: unknown, text: string, line: BoundedLine) => Promise<void> | undefined;

/** JSON values both ways, one a line, and the requests that wait for the agent's answer. */
export abstract class JsonConnection<Id> {
  readonly readProgress: ReadProgress;
  readonly #child: AgentPipes;
  readonly #pending = new Map<Id, PromiseWithResolvers<unknown>>();

  constructor(child: AgentPipes, range?: LinesRange) {
    this.#child = child;
    this.readProgress = readJson(
      child.stdout,
      (json, text, line) => this.receive(json, text, line),
      range,
    );
  }

  /** Handles the value of a line. An error that it throws ends the connection. */
  protected abstract receive(...line: Parameters<TakeJson>): ReturnType<TakeJson>;

  /** Writes a message; one for an agent that is gone is dropped. */
  send(message: object): void {
    const { stdin } = this.#child;
    if (stdin.writable) stdin.write(lineOf(message));
  }

  /** Writes a line that the agent must get once; resolves when the agent's input has taken it, or is closed. */
  protected write(line: string, key: string): Promise<void> {
    return this.#child.writeInput(line, key);
  }

  /** Sends the messages of an earlier server that the agent may not have got. */
  resend(messages: readonly UnsentMessage[], keyOf: (n: number) => string = String): void {
    for (const { n, line, onTaken } of messages) void this.write(line, keyOf(n)).then(onTaken);
  }

  /**
   * Sends a request and resolves with its result. Rejects with {@link Refusal}; never settles where the agent goes
   * without an answer, so the caller also watches for the agent's end.
   */
  protected requestAs(id: Id, message: object): Promise<unknown> {
    const answer = this.answerTo(id);
    this.send(message);
    return answer;
  }

  /** Waits for the answer to a request that was sent, perhaps by an earlier server. Settles as `requestAs` does. */
  protected answerTo(id: Id): Promise<unknown> {
    const pending = Promise.withResolvers<unknown>();
    this.#pending.set(id, pending);
    return pending.promise;
  }

  /** Settles a request by its answer: resolves when the caller has acted on it. Null where no request has that id. */
  protected settle(
    id: Id,
    answer: { result: unknown } | { refusal: Refusal },
  ): Promise<void> | null {
    const pending = this.#pending.get(id);
    if (!pending) return null;
    this.#pending.delete(id);
    if ('refusal' in answer) pending.reject(answer.refusal);
    else pending.resolve(answer.result);
    return yieldToEventLoop();
  }

  /** Fails a request whose answer cannot be read. False where no request has that id. */
  protected fail(id: Id, why: string): boolean {
    const pending = this.#pending.get(id);
    pending?.reject(new Error(why));
    return this.#pending.delete(id);
  }

  /** Fails all requests, because the connection has ended. */
  protected failAll(error: Error): void {
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
  }
}

/** Has `take` handle the output of an agent, one JSON value a line. Blank lines are passed over. */
function readJson(stdout: Readable, take: TakeJson, range?: LinesRange): ReadProgress {
  const takeLine = (line: BoundedLine) => {
    const { text, excess } = line;
    if (text.trim() === '') return undefined;
    const json = parsedJson(text);
    if (excess) noteExcess(json, excess);
    return take(json, text, line);
  };
  return readJsonLines(stdout, takeLine, range);
}

/** The messages that were larger than what is read, and their parts that adapters pass on alone. */
const excesses = new WeakMap<object, Excess>();

/** The limit that a message, its `params`, its `request` or its `update` exceeds; null: it is whole. */
export function excessOf(message: unknown): Excess | null {
  return (isObject(message) && excesses.get(message)) || null;
}

export function noteExcess(message: unknown, excess: Excess): void {
  if (!isObject(message)) return;
  const { params, request } = message;
  const update = isObject(params) ? params.update : undefined;
  for (const part of [message, params, request, update])
    if (isObject(part)) excesses.set(part, excess);
}

/** Returns the id of one of cadre's requests from the answer of an agent. Some agents write the number as a text. */
export function answeredId<Id>(id: Id): Id | number {
  return typeof id === 'string' && /^\d+$/.test(id) ? Number(id) : id;
}

export function lineOf(message: object): string {
  return `${JSON.stringify(message)}\n`;
}

/** The requests of an agent that wait for an answer. The agent may withdraw each of them by its id, which may not be unique. */
export class OpenRequests<Id> {
  readonly #open = new Set<{ id: Id; withdrawal: AbortController }>();

  /** Sends what `decide` gives, unless the request is withdrawn before that: then nobody waits for an answer. */
  async answer<T>(
    id: Id,
    decide: (withdrawn: AbortSignal) => Promise<T>,
    send: (answer: T) => void,
  ): Promise<void> {
    await this.handle(id, async (withdrawn) => {
      const answer = await decide(withdrawn);
      if (!withdrawn.aborted) send(answer);
    });
  }

  /** Calls `work`, which answers the request even if it is withdrawn. */
  async handle(id: Id, work: (withdrawn: AbortSignal) => Promise<void>): Promise<void> {
    const request = { id, withdrawal: new AbortController() };
    this.#open.add(request);
    try {
      await work(request.withdrawal.signal);
    } finally {
      this.#open.delete(request);
    }
  }

  withdraw(id: Id): void {
    for (const request of this.#open) if (request.id === id) request.withdrawal.abort();
  }

  /** To be called when the agent is gone. */
  withdrawAll(): void {
    for (const { withdrawal } of this.#open) withdrawal.abort();
  }
}
