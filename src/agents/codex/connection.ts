import { z } from 'zod';
import {
  type AgentPipes,
  excessOf,
  JsonConnection,
  noteExcess,
  Refusal,
} from '../json-connection.ts';
import { MAX_LINE_BYTES, MAX_SHARED_LINE_BYTES } from '../json-lines.ts';
import { fieldOf, maybeText } from '../lenient.ts';

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
  /** Takes a notification, in its order; a promise holds back the messages after it. */
  onNotification(method: string, params: Params): Promise<void> | undefined;
  /** Takes a request of the server, which has to be answered by `answer` or `refuse`. */
  onRequest(id: RequestId, method: string, params: Params): void;
  /** Called where a message of a thread was too long to be read. */
  onLost(threadId: string): void;
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
export class Connection extends JsonConnection<RequestId> {
  readonly #handlers: Handlers;
  #requests = 0;

  constructor(child: AgentPipes, handlers: Handlers) {
    super(child, { maxBytes: MAX_SHARED_LINE_BYTES });
    this.#handlers = handlers;
  }

  /** Sends a request. Settles as `requestAs` does. */
  request(method: string, params: object): Promise<unknown> {
    const request = ++this.#requests;
    return this.requestAs(request, { id: request, method, params });
  }

  notify(method: string): void {
    this.send({ method });
  }

  answer(to: RequestId, result: object): void {
    this.send({ id: to, result });
  }

  refuse(to: RequestId, why: string): void {
    this.send({ id: to, error: { code: METHOD_NOT_FOUND, message: why } });
  }

  protected receive(json: unknown, line: string): Promise<void> | undefined {
    if (json === undefined)
      throw new Error(`codex sent a line that is not JSON: ${line.slice(0, 200)}`);
    const said: Message | undefined = message.safeParse(json).data;
    const excess = excessOf(json);
    if (excess && excess.bytes > MAX_LINE_BYTES) return this.#lose(said);
    if (excess) noteExcess(said?.result, excess);
    if (said?.method === undefined) return this.#settleBy(said);
    if (excess) noteExcess(said.params, excess);
    if (said.id === undefined) return this.#handlers.onNotification(said.method, said.params);
    this.#handlers.onRequest(said.id, said.method, said.params);
    return undefined;
  }

  #settleBy(said: Message | undefined): Promise<void> | undefined {
    const answer = said?.error
      ? { refusal: new Refusal(said.error.message) }
      : { result: said?.result };
    const settled = this.settle(said?.id ?? '', answer);
    if (settled) return settled;
    this.#handlers.onUnknown();
    return undefined;
  }

  /** A line is too long to be read: it is lost for the request or the thread that it names. Throws where it names none. */
  #lose(said: Message | undefined): undefined {
    const { threadId: thread } = said?.params ?? {};
    if (said?.method === undefined && this.fail(Number(said?.id), TOO_LONG)) return;
    if (typeof thread !== 'string') throw new Error('codex sent a line that is too long');
    this.#handlers.onLost(thread);
  }
}

/** Why a request fails whose response is too long to be read. */
export const TOO_LONG = 'the response is too long';

const METHOD_NOT_FOUND = -32_601;
