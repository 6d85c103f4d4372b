import type net from 'node:net';
import { until } from './calls.ts';
import {
  inHome,
  type AgentHarnessOptions,
  agentHarnesses,
  envOf,
  type Fields,
  ScriptedProcess,
  type Hello,
} from './scripted-agent.ts';
import { argumentsOf } from '../processes/command-line.ts';

/** The behaviour of an app-server, where it differs from a correct one. */
export interface CodexBehavior {
  /** Called before the first answer; may end the process. */
  begins?: (server: RawCodex) => void;
  /** Result of a request, by method. An exception is sent as an error. */
  requests?: Record<string, (params: Fields, server: RawCodex) => unknown>;
  /** Behaviour for a prompt, by its text. The app-server echoes all other prompts. */
  turns?: Record<string, (turn: RawTurn) => unknown>;
}

/** The stored threads of all app-servers of a test, each with its number of used tokens. */
type Memory = Map<string, number>;

/** The test's side of one app-server. */
export class RawCodex extends ScriptedProcess {
  readonly args = argumentsOf(this.pid);
  readonly env = envOf(this.pid);
  /** The turns that cadre has started, oldest first. */
  readonly turns: RawTurn[] = [];
  readonly memory: Memory;
  readonly #behavior: CodexBehavior;
  #asked = 0;

  constructor(socket: net.Socket, hello: Hello, behavior: CodexBehavior, memory: Memory) {
    super(socket, hello);
    this.#behavior = behavior;
    this.memory = memory;
    behavior.begins?.(this);
  }

  /** Ends the app-server, as a real one ends itself some time after its last session. */
  retire(): void {
    this.exit(0);
  }

  note(method: string, params: object): void {
    this.#send({ method, params });
  }

  /** Sends a request; resolves with the response. */
  async ask(method: string, params: object, id: number | string = this.#asked++): Promise<Fields> {
    this.#send({ id, method, params });
    await until(`${method} is answered`, () => this.answerTo(id) !== undefined);
    return this.answerTo(id) ?? {};
  }

  answerTo(id: number | string): Fields | undefined {
    return this.received.find((message) => message.id === id && message.method === undefined);
  }

  /** Returns the parameters of all requests with a method that cadre has sent. */
  requests(method: string): Fields[] {
    return this.received
      .filter((message) => message.method === method)
      .map(({ params }) => params as Fields);
  }

  turnOf(threadId: unknown): RawTurn | undefined {
    return this.turns.findLast((turn) => turn.thread === threadId && !turn.ended);
  }

  protected override handle(message: Fields): void {
    if (message.id !== undefined && message.method !== undefined) void this.#answer(message);
  }

  async #answer({ id, method, params }: Fields): Promise<void> {
    const handler = this.#behavior.requests?.[String(method)] ?? good[String(method)];
    try {
      if (!handler) throw new Refusal(`unknown variant \`${String(method)}\``);
      const result = (await handler(params as Fields, this)) ?? {};
      this.#send({ id, result });
      if (method === 'turn/start') void this.#turn(params as Fields, result as Fields);
      if (method === 'thread/resume') this.#replay(params as Fields);
    } catch (error) {
      this.#send({ id, error: { code: -32_600, message: (error as Error).message } });
    }
  }

  async #turn(params: Fields, { turn }: Fields): Promise<void> {
    const { id } = turn as { id: string };
    const rawTurn = new RawTurn(this, String(params.threadId), id);
    this.turns.push(rawTurn);
    const [{ text = '' } = {}] = params.input as { text?: string }[];
    const handler = this.#behavior.turns?.[text];
    rawTurn.note('turn/started', { turn: { id, status: 'inProgress' } });
    if (handler) {
      await handler(rawTurn);
      return;
    }
    rawTurn.say(text);
    rawTurn.use(10);
    rawTurn.complete();
  }

  /** Reports the earlier usage of a thread to a client that resumes it. */
  #replay({ threadId }: Fields): void {
    const total = this.memory.get(String(threadId)) ?? 0;
    if (total > 0) new RawTurn(this, String(threadId), 'turn of old').reportUsage(total, 0);
  }

  #send(message: object): void {
    const [start = '', end] = `${JSON.stringify(message)}\n`.split(TOO_LONG);
    this.write(start);
    if (end === undefined) return;
    this.fill(33 * 1024 * 1024);
    this.write(end);
  }
}

/** A marker in a message; `#send` replaces it with more text than a message may have. */
export const TOO_LONG = 'too long to be taken';

/** A turn of a thread. */
export class RawTurn {
  readonly thread: string;
  readonly id: string;
  readonly server: RawCodex;
  ended = false;
  #items = 0;

  constructor(server: RawCodex, thread: string, id: string) {
    this.server = server;
    this.thread = thread;
    this.id = id;
  }

  note(method: string, params: object): void {
    this.server.note(method, { ...params, threadId: this.thread, turnId: this.id });
  }

  /** Sends a text as one delta. */
  say(text: string): void {
    const itemId = `msg_${this.id}_${++this.#items}`;
    this.note('item/agentMessage/delta', { itemId, delta: text });
    this.done({ type: 'agentMessage', id: itemId, text });
  }

  begin(item: object): void {
    this.note('item/started', { item });
  }

  done(item: object): void {
    this.note('item/completed', { item });
  }

  ask(method: string, params: object, id?: number | string): Promise<Fields> {
    return this.server.ask(method, { ...params, threadId: this.thread, turnId: this.id }, id);
  }

  /** Adds so many tokens to the usage of the thread, and reports it. */
  use(more: number): void {
    const total = (this.server.memory.get(this.thread) ?? 0) + more;
    this.server.memory.set(this.thread, total);
    this.reportUsage(total, more);
  }

  reportUsage(total: number, last: number): void {
    const tokenUsage = { total: tokens(total), last: tokens(last), modelContextWindow: 1000 };
    this.note('thread/tokenUsage/updated', { tokenUsage });
  }

  complete(status = 'completed', error: object | null = null): void {
    this.ended = true;
    if (!this.server.memory.has(this.thread)) this.server.memory.set(this.thread, 0);
    this.note('turn/completed', { turn: { id: this.id, status, error } });
  }
}

/** Divides a number of tokens: 70% input (including 20% from the cache) and 30% output. */
function tokens(all: number): object {
  const inputTokens = Math.round(all * 0.7);
  const cachedInputTokens = Math.round(all * 0.2);
  return { totalTokens: all, inputTokens, cachedInputTokens, outputTokens: all - inputTokens };
}

export class Refusal extends Error {}

let names = 0;

const own = {
  model: 'usual',
  approvalPolicy: 'on-request',
  sandbox: { type: 'readOnly', networkAccess: false },
  reasoningEffort: null,
};

const good: NonNullable<CodexBehavior['requests']> = {
  initialize: () => ({ userAgent: 'cadre/9.9.9 (Test 1; x86_64) dumb' }),
  'model/list': () => ({
    data: [
      {
        id: 'usual',
        model: 'usual',
        displayName: 'Usual',
        hidden: false,
        supportedReasoningEfforts: [{ reasoningEffort: 'low' }, { reasoningEffort: 'high' }],
        defaultReasoningEffort: 'low',
      },
    ],
    nextCursor: null,
  }),
  'account/read': () => ({ account: null, requiresOpenaiAuth: true }),
  'thread/start': () => ({ ...own, thread: { id: `thread-${++names}`, status: { type: 'idle' } } }),
  'thread/name/set'({ threadId }, { memory }) {
    memory.set(String(threadId), 0);
  },
  'thread/resume'({ threadId }, server) {
    if (!server.memory.has(String(threadId)))
      throw new Refusal(`no rollout found for thread id ${String(threadId)}`);
    const type = server.turnOf(threadId) ? 'active' : 'idle';
    return { ...own, thread: { id: threadId, status: { type } } };
  },
  'thread/read'({ threadId }, { memory }) {
    if (!memory.has(String(threadId))) throw new Refusal(`thread not loaded: ${String(threadId)}`);
    return { thread: { id: threadId } };
  },
  'thread/list': () => ({ data: [], nextCursor: null }),
  'thread/unsubscribe': () => ({ status: 'unsubscribed' }),
  'thread/backgroundTerminals/clean': () => ({}),
  'turn/start': () => ({ turn: { id: `turn-${++names}`, status: 'inProgress' } }),
  'turn/interrupt'({ threadId }, server) {
    const turn = server.turnOf(threadId);
    if (!turn) throw new Refusal('no active turn to interrupt');
    setImmediate(() => turn.complete('interrupted'));
  },
};

export interface CodexHarnessOptions extends AgentHarnessOptions {
  /** More keys of `[providers.codex]`. */
  codex?: Fields;
  /** More environment variables of the app-servers. */
  env?: Record<string, string>;
}

export const { forTest: testRawCodex, shared: sharedRawCodex } = agentHarnesses(
  (behavior: CodexBehavior, { codex, env, ...given }: Partial<CodexHarnessOptions>) => {
    const memory: Memory = new Map();
    return {
      ...given,
      provider: 'codex',
      connect: (socket, hello) => new RawCodex(socket, hello, behavior, memory),
      section: inHome({ ...codex, env }),
    };
  },
);
