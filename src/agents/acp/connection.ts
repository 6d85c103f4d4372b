import { z } from 'zod';
import type { Child } from '../../core/children/supervisor.ts';
import { parsedJson } from '../../core/lib/parsed-json.ts';
import type { AttachedRequest, AttachedTurn } from '../attached-turn.ts';
import type { BoundedLine } from '../bounded-line.ts';
import { answeredId, JsonConnection, lineOf, OpenRequests, Refusal } from '../json-connection.ts';
import { NonProtocolOutput } from '../json-lines.ts';
import type { AskedRequest, OutputLine, OutputLines } from '../output-lines.ts';
import { plain } from '../../core/lib/plain.ts';

export interface AcpHandlers {
  /** The lines that are being processed; each handler gets the line of its message. */
  readonly lines: OutputLines;
  /** Takes a `session/update` notification, in the order of the wire; a promise holds back the messages after it. */
  onUpdate(params: unknown, line: OutputLine): Promise<void> | undefined;
  /** Begins to answer a request at once, in the order of the wire. */
  onPermission(params: unknown, asked: AskedRequest): Promise<object>;
  onElicitation(params: unknown, asked: AskedRequest): Promise<object>;
  /** Answers a request of an earlier server's time, as the two do with new ones. */
  onAskedAgain(request: AttachedRequest, withdrawn: AbortSignal): Promise<object>;
  /** Takes an `elicitation/complete`: what a page was opened for is done. */
  onElicitationDone(params: unknown): void;
  /** Takes what an agent says of its login. */
  onAuthStatus(params: unknown): void;
  /** Called for a notification or request of an unknown method. Such requests are refused. */
  onUnknown(): void;
}

type RequestId = string | number | null;

const PROMPT = 'session/prompt';
const PERMISSION = 'session/request_permission';
const ELICITATION = 'elicitation/create';
const ELICITATION_DONE = 'elicitation/complete';
const WITHDRAWAL = '$/cancel_request';

/** The methods that an agent may use besides `session/update`. */
const KNOWN_METHODS = new Set([PERMISSION, ELICITATION, ELICITATION_DONE, WITHDRAWAL]);

/** How agents say whether somebody is logged in: as the drafts of the protocol have it, and as agents do before that. */
const AUTH_STATUS_METHODS = new Set(['auth/status_update', '_auth/status_update']);

const PARSE_ERROR = { code: -32_700, message: 'Parse error' };
const INVALID_REQUEST = { code: -32_600, message: 'Invalid request' };
const METHOD_NOT_FOUND = { code: -32_601 };
const INTERNAL_ERROR = -32_603;

/** An error response of an agent. */
class ErrorResponse extends Refusal {
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message: text, data }: { code: number; message: string; data?: unknown }) {
    super(text);
    this.code = code;
    this.data = data;
  }
}

/**
 * A connection to a child that speaks ACP. Each message is handled in the order of the wire, and none after the answer
 * that follows it.
 */
export class AcpConnection extends JsonConnection<RequestId> {
  readonly nonProtocol = new NonProtocolOutput();
  readonly #handlers: AcpHandlers;
  readonly #requests = new OpenRequests<RequestId>();
  #lastId = 0;
  /** The newest prompt. The line with its answer is open until the next prompt, because it ends the turn. */
  #prompt: { id: number; answer: OutputLine | null; hold: Disposable | null } | null = null;
  #closed: Error | null = null;

  /** `from`: the offset in the output of the child from which the lines are read. */
  constructor(child: Child, handlers: AcpHandlers, from = 0) {
    super(child, { from });
    this.#handlers = handlers;
    child.stdin.once('error', (error) => this.close(error));
    void this.readProgress.ended.then((wrong) =>
      this.close(new Error(wrong ?? 'the connection has ended')),
    );
  }

  /** Sends a request. Rejects with the agent's error, or with Error when the connection ends first. */
  request(method: string, params: object): Promise<unknown> {
    if (this.#closed) return Promise.reject(this.#closed);
    const id = ++this.#lastId;
    const message = { jsonrpc: '2.0', id, method, params };
    if (method !== PROMPT) return this.requestAs(id, message);
    this.#awaitPrompt(id);
    const answer = this.answerTo(id);
    this.#queue(message);
    return answer;
  }

  /** Waits for the answer to a prompt of an earlier server. Settles as `request` does. */
  resumePrompt(id: number): Promise<unknown> {
    if (this.#closed) return Promise.reject(this.#closed);
    this.#lastId = Math.max(this.#lastId, id);
    this.#awaitPrompt(id);
    return this.answerTo(id);
  }

  /** The id of the newest prompt, and the line with its answer; nulls before. */
  get prompt(): { id: number | null; answer: OutputLine | null } {
    return this.#prompt ?? { id: null, answer: null };
  }

  /** Sends the messages of an earlier server that the agent may not have got, and answers its requests. */
  resume({ messages, requests }: AttachedTurn): void {
    this.resend(messages);
    for (const request of requests)
      void this.#answerBy(request.key, null, (withdrawn) =>
        this.#handlers.onAskedAgain(request, withdrawn),
      );
  }

  notify(method: string, params: object): void {
    this.send({ jsonrpc: '2.0', method, params });
  }

  close(error = new Error('the connection was closed')): void {
    this.#closed ??= error;
    this.failAll(error);
    this.#requests.withdrawAll();
  }

  protected receive(json: unknown, text: string, line: BoundedLine): Promise<void> | undefined {
    const begun = this.#handlers.lines.begin(line);
    return begun.during(() => {
      const data = readMessage(json, text);
      if (data) {
        this.nonProtocol.reset();
        return this.#handle(data, begun);
      }
      this.#refuse(null, json === undefined ? PARSE_ERROR : INVALID_REQUEST);
      this.nonProtocol.note(text);
      return undefined;
    });
  }

  /** Sends a message that the agent must get once: the prompt, and answers. */
  #queue(message: object, about: { answers?: string; hold?: Disposable | null } = {}): void {
    const line = lineOf(message);
    this.#handlers.lines.send(line, about, (key) => this.write(line, key));
  }

  #awaitPrompt(id: number): void {
    this.#prompt?.hold?.[Symbol.dispose]();
    this.#prompt = { id, answer: null, hold: null };
  }

  #handle(data: Record<string, unknown>, line: OutputLine): Promise<void> | undefined {
    const { id, method, params } = data;
    if (method === undefined) return this.#settleBy(data, line);
    if (typeof method !== 'string') {
      this.#handlers.onUnknown();
      this.#refuse(null, INVALID_REQUEST);
    } else if (id === undefined) {
      return this.#notice(method, params, line);
    } else if (!isRequestId(id)) {
      this.#refuse(null, INVALID_REQUEST);
    } else {
      void this.#answer(id, method, params, line);
    }
    return undefined;
  }

  #notice(method: string, params: unknown, line: OutputLine): Promise<void> | undefined {
    if (method === 'session/update') return this.#handlers.onUpdate(params, line);
    if (AUTH_STATUS_METHODS.has(method)) this.#handlers.onAuthStatus(params);
    else if (method === WITHDRAWAL) this.#withdraw(params);
    else if (method === ELICITATION_DONE) this.#handlers.onElicitationDone(params);
    else if (!KNOWN_METHODS.has(method)) this.#handlers.onUnknown();
    return undefined;
  }

  async #answer(id: RequestId, method: string, params: unknown, line: OutputLine): Promise<void> {
    if (line.isDone) return;
    if (!KNOWN_METHODS.has(method)) this.#handlers.onUnknown();
    const hold = line.hold();
    const key = JSON.stringify(id);
    await this.#answerBy(key, hold, (withdrawn) =>
      this.#resultOf(method, params, { line, key, withdrawn, hold }),
    );
  }

  async #resultOf(method: string, params: unknown, asked: AskedRequest): Promise<object> {
    switch (method) {
      case PERMISSION:
        return this.#handlers.onPermission(params, asked);
      case ELICITATION:
        return this.#handlers.onElicitation(params, asked);
      default:
        throw new ErrorResponse({ ...METHOD_NOT_FOUND, message: `"Method not found": ${method}` });
    }
  }

  /** Answers a request, also one that the agent has withdrawn: it may wait for the answer. */
  #answerBy(
    key: string,
    hold: Disposable | null,
    decide: (withdrawn: AbortSignal) => Promise<object>,
  ): Promise<void> {
    const id = JSON.parse(key) as RequestId;
    return this.#requests.handle(id, async (withdrawn) => {
      const answer = await decide(withdrawn).then(
        (result) => ({ result }),
        (error: unknown) => ({ error: refusalOf(error) }),
      );
      this.#queue({ jsonrpc: '2.0', id, ...answer }, { answers: key, hold });
    });
  }

  #withdraw(params: unknown): void {
    const { requestId } = withdrawal.safeParse(params).data ?? {};
    if (isRequestId(requestId)) this.#requests.withdraw(requestId);
  }

  #refuse(id: RequestId, error: object): void {
    this.send({ jsonrpc: '2.0', id, error });
  }

  #settleBy(data: Record<string, unknown>, line: OutputLine): Promise<void> | undefined {
    const { id, result, error } = data;
    const prompt = this.#prompt;
    if (prompt && prompt.id === id) this.#prompt = { ...prompt, answer: line, hold: line.hold() };
    const isAnswer = (result === undefined) !== (error === undefined);
    const refusal = isAnswer ? goodError.safeParse(error).data : { ...INVALID_REQUEST, data };
    const answer = refusal ? { refusal: new ErrorResponse(refusal) } : { result };
    return (isRequestId(id) && this.settle(id, answer)) || undefined;
  }
}

const withdrawal = z.looseObject({ requestId: z.unknown() });

function refusalOf(error: unknown): object {
  if (error instanceof ErrorResponse) return { code: error.code, message: error.message };
  const data = { details: (error as Error).message };
  return { code: INTERNAL_ERROR, message: 'Internal error', data };
}

function isRequestId(id: unknown): id is RequestId {
  return id === null || typeof id === 'string' || Number.isFinite(id);
}

/** The error that an agent has answered a request with; null for any other failure. */
export function agentError(error: unknown): { code: number; message: string } | null {
  if (!(error instanceof ErrorResponse)) return null;
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

/** The longest reason that is taken from the data of an error, in UTF-16 code units: some agents send a stack. */
const MAX_REASON = 1000;

/**
 * The message in a line, with answers in the form of the protocol; null where there is none. `json` is the value of the
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

/** Agents write our ids as texts, a null beside a result or an error, and errors in shapes of their own. */
function readableAnswer({
  id,
  error,
  result,
  ...rest
}: Record<string, unknown>): Record<string, unknown> {
  const ours = answeredId(id);
  const answer = ours === undefined ? rest : { ...rest, id: ours };
  if (error === undefined || (error === null && result !== undefined)) return { ...answer, result };
  if (result !== undefined && result !== null) return { ...answer, result, error };
  if (goodError.safeParse(error).success) return { ...answer, error };
  const failure = anyError.safeParse(error).data ?? { code: INTERNAL_ERROR, message: '' };
  return { ...answer, error: { code: failure.code, message: failure.message, data: error } };
}

/** Returns the reason in the data of an error, where many agents write it. Null if the data has no text. */
function reasonIn(data: unknown): string | null {
  if (typeof data === 'string') return data.trim() === '' ? null : data.trim().slice(0, MAX_REASON);
  if (typeof data !== 'object' || data === null) return null;
  const { details, detail, message: text, reason, error } = message.safeParse(data).data ?? {};
  const parts = Array.isArray(data) ? data : [details, detail, text, reason, error];
  for (const part of parts) {
    const found = reasonIn(part);
    if (found !== null) return found;
  }
  return null;
}
