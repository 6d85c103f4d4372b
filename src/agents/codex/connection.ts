import { z } from 'zod';
import { random } from '../../core/lib/ids.ts';
import { valueText } from '../../core/lib/value-text.ts';
import type { BoundedLine } from '../bounded-line.ts';
import {
  type AgentPipes,
  answeredId,
  excessOf,
  JsonConnection,
  lineOf,
  noteExcess,
  Refusal,
} from '../json-connection.ts';
import { MAX_LINE_BYTES, MAX_SHARED_LINE_BYTES } from '../json-lines.ts';
import { fieldOf, maybeText } from '../lenient.ts';
import type { OutputLine, OutputLines } from '../output-lines.ts';

/** Notifications that concern no session: of accounts, of apps, of an editor that embeds codex. */
const FOREIGN =
  /^(account|app|attestation|command|externalAgentConfig|fs|fuzzyFileSearch|hook|mcpServer|model|modelProvider|process|project|rawResponse|rawResponseItem|remoteControl|skills|thread\/realtime|windows|windowsSandbox)\//;
const KNOWN = new Set([
  'autoApprovalReview/strictReviewRequired',
  'configWarning',
  'deprecationNotice',
  'error',
  'guardianWarning',
  'item/agentMessage/delta',
  'item/autoApprovalReview/completed',
  'item/autoApprovalReview/started',
  'item/commandExecution/outputDelta',
  'item/commandExecution/terminalInteraction',
  'item/completed',
  'item/fileChange/outputDelta',
  'item/fileChange/patchUpdated',
  'item/mcpToolCall/progress',
  'item/plan/delta',
  'item/reasoning/summaryPartAdded',
  'item/reasoning/summaryTextDelta',
  'item/reasoning/textDelta',
  'item/started',
  'serverRequest/resolved',
  'thread/archived',
  'thread/attachment/updated',
  'thread/closed',
  'thread/compacted',
  'thread/deleted',
  'thread/environment/connected',
  'thread/environment/disconnected',
  'thread/goal/cleared',
  'thread/goal/updated',
  'thread/name/updated',
  'thread/prediction/updated',
  'thread/project/updated',
  'thread/queue/changed',
  'thread/readState/changed',
  'thread/reverted',
  'thread/section/changed',
  'thread/settings/updated',
  'thread/started',
  'thread/status/changed',
  'thread/tokenUsage/updated',
  'thread/unarchived',
  'turn/completed',
  'turn/diff/updated',
  'turn/moderationMetadata',
  'turn/plan/updated',
  'turn/started',
  'warning',
  'windows/worldWritableWarning',
]);

export function isKnown(method: string): boolean {
  return KNOWN.has(method) || FOREIGN.test(method);
}

const ofThread = z.object({ threadId: maybeText, conversationId: maybeText });

/** The thread that a message belongs to; null for a message that belongs to no session. */
export function threadOf(params: Params): string | null {
  const { threadId, conversationId } = ofThread.parse(params);
  return threadId ?? conversationId;
}

const begun = z.looseObject({
  thread: z.looseObject({ id: z.string(), parentThreadId: z.string() }),
});

/** The thread that began another one, in the notification that says so. */
export function parentOf(
  method: string,
  params: Params,
): { child: string; thread: string } | undefined {
  if (method !== 'thread/started') return undefined;
  const thread = begun.safeParse(params).data?.thread;
  return thread && { child: thread.id, thread: thread.parentThreadId };
}

/** Returns the version in the answer of codex to `initialize`. Null if the answer has no version. */
export function versionIn(answer: unknown): string | null {
  const name = fieldOf(answer, 'userAgent');
  return typeof name === 'string' ? (/\/(\d+\.\d+\.\d+\S*)/.exec(name)?.[1] ?? null) : null;
}

export type Params = Record<string, unknown>;
export type RequestId = string | number;

export interface Handlers {
  /** Returns the lines of the session that a message of codex is for; null: it is for none. */
  linesFor(params: Params): OutputLines | null;
  /** Called for each line before it is handled, with the lines of its session. */
  onLine(line: BoundedLine, lines: OutputLines | null): void;
  /** Takes a notification, in its order; a promise holds back the messages after it. `line` is null without a session. */
  onNotification(
    method: string,
    params: Params,
    line: OutputLine | null,
  ): Promise<void> | undefined;
  /** Takes a request of the server, which has to be answered by `answer`. */
  onRequest(request: ServerRequest, line: OutputLine | null): void;
  /** Called where a message of a thread was too long to be read. */
  onLost(threadId: string): void;
  onUnknown(): void;
}

export interface ServerRequest {
  id: RequestId;
  method: string;
  params: Params;
}

/** The answer to a request of the server. */
export type Reply = { result: object } | { error: { code: number; message: string } };

const id = z.union([z.string(), z.number()]);
const message = z.looseObject({
  id: id.optional().catch(undefined),
  method: z.string().optional().catch(undefined),
  params: z.record(z.string(), z.unknown()).catch({}),
  error: z.unknown().optional(),
  result: z.unknown().optional(),
});
type Message = z.output<typeof message>;

/** Each process of cadre has so many ids of its own for requests, because the answer to an earlier process may still come. */
const IDS_OF_PROCESS = 2 ** 20;

/** Requests, answers and notifications both ways: JSON-RPC without its name. */
export class Connection extends JsonConnection<RequestId> {
  /** The offset up to which the output was read. */
  read: number;
  readonly #handlers: Handlers;
  /** The sessions that wait for answers, by the ids of the requests. */
  readonly #asking = new Map<RequestId, OutputLines>();
  /** Whether an earlier process of cadre has sent requests. */
  readonly #isTakenOver: boolean;
  #lastId: number;

  /** `from`: the offset in the output from which the lines are read, if an earlier process has read those before. */
  constructor(child: AgentPipes, handlers: Handlers, from: number | null = null) {
    super(child, { maxBytes: MAX_SHARED_LINE_BYTES, from: from ?? 0 });
    this.#handlers = handlers;
    this.read = from ?? 0;
    this.#isTakenOver = from !== null;
    this.#lastId = from === null ? 0 : Math.floor(1 + random() * 2 ** 32) * IDS_OF_PROCESS;
  }

  /** Returns the id for a request. */
  newId(): number {
    return ++this.#lastId;
  }

  /** Sends a request for the session with these lines. Settles as `requestAs` does. */
  request(method: string, params: object, lines: OutputLines | null = null): Promise<unknown> {
    const request = this.newId();
    if (lines) this.#asking.set(request, lines);
    return this.requestAs(request, { id: request, method, params });
  }

  /** Sends a request that codex must get once. Settles as `requestAs` does. */
  requestOnce(
    request: number,
    message: { method: string; params: object },
    lines: OutputLines,
  ): Promise<unknown> {
    const answer = this.resume(request, lines);
    const line = lineOf({ id: request, ...message });
    lines.send(line, {}, (key) => this.write(line, key));
    return answer;
  }

  /** Waits for the answer to a request that was sent, perhaps by an earlier process. Settles as `requestAs` does. */
  resume(request: number, lines: OutputLines): Promise<unknown> {
    this.#asking.set(request, lines);
    return this.answerTo(request);
  }

  notify(method: string): void {
    this.send({ method });
  }

  /** Answers a request: once, if it is for a session. */
  answer(
    to: RequestId,
    reply: Reply,
    lines: OutputLines | null = null,
    about: Parameters<OutputLines['send']>[1] = {},
  ): void {
    const line = lineOf({ id: to, ...reply });
    if (lines) lines.send(line, about, (key) => this.write(line, key));
    else void this.write(line, '');
  }

  protected receive(json: unknown, text: string, line: BoundedLine): Promise<void> | undefined {
    if (json === undefined)
      throw new Error(`codex sent a line that is not JSON: ${text.slice(0, 200)}`);
    const received: Message | undefined = message.safeParse(json).data;
    if (received && received.method === undefined) received.id = answeredId(received.id);
    const lines = this.#linesFor(received);
    this.#handlers.onLine(line, lines);
    this.read = line.end;
    if (!lines) return this.#handle(json, received, null);
    if (lines.hasRead(line)) return undefined;
    const begun = lines.begin(line);
    return begun.during(() => this.#handle(json, received, begun));
  }

  #linesFor(received: Message | undefined): OutputLines | null {
    if (!received) return null;
    const { id: answered = '', method, params } = received;
    return method === undefined
      ? (this.#asking.get(answered) ?? null)
      : this.#handlers.linesFor(params);
  }

  #handle(
    json: unknown,
    received: Message | undefined,
    line: OutputLine | null,
  ): Promise<void> | undefined {
    const excess = excessOf(json);
    if (excess && excess.bytes > MAX_LINE_BYTES) return this.#lose(received);
    if (excess) noteExcess(received?.result, excess);
    if (received?.method === undefined) return this.#settleBy(received);
    const { id: asked, method, params } = received;
    if (excess) noteExcess(params, excess);
    if (asked === undefined) return this.#handlers.onNotification(method, params, line);
    this.#handlers.onRequest({ id: asked, method, params }, line);
    return undefined;
  }

  #settleBy(received: Message | undefined): Promise<void> | undefined {
    const { error, result } = received ?? {};
    const answer = error == null ? { result } : { refusal: new Refusal(reasonIn(error)) };
    const to = received?.id ?? '';
    this.#asking.delete(to);
    const settled = this.settle(to, answer);
    if (settled) return settled;
    if (!(this.#isTakenOver && typeof to === 'number')) this.#handlers.onUnknown();
    return undefined;
  }

  /** A line is too long to be read: it is lost for the request or the thread that it names. Throws where it names none. */
  #lose(received: Message | undefined): undefined {
    const { threadId: thread } = received?.params ?? {};
    const answered = received?.method === undefined ? Number(received?.id) : NaN;
    this.#asking.delete(answered);
    if (this.fail(answered, TOO_LONG)) return;
    if (typeof thread !== 'string') throw new Error('codex sent a line that is too long');
    this.#handlers.onLost(thread);
  }
}

/** Returns the message of an error; all of the error if it has no message. */
function reasonIn(error: unknown): string {
  const text = fieldOf(error, 'message');
  return typeof text === 'string' ? text : valueText(error).slice(0, MAX_REASON);
}

const MAX_REASON = 1000;

/** Returns the answer that refuses a request. */
export function refused(why: string): Reply {
  return { error: { code: METHOD_NOT_FOUND, message: why } };
}

/** Why a request fails whose response is too long to be read. */
export const TOO_LONG = 'the response is too long';

const METHOD_NOT_FOUND = -32_601;
