import type net from 'node:net';
import { scaled } from '../patience.ts';
import { until } from './calls.ts';
import type { WatchedSession } from './provider-harness.ts';
import {
  type AgentHarnessOptions,
  type AgentHarness,
  agentHarnesses,
  ScriptedProcess,
  type Hello,
} from './scripted-agent.ts';

/** A JSON-RPC message, as it is on the wire. */
export interface Message {
  id?: number | string | null;
  method?: string;
  params?: Params;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}
export type Params = Record<string, unknown>;

/** An error response of an agent. */
export class Refusal extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The result of a request that the agent never answers. */
export const never = new Promise<never>(() => undefined);

/** The result of a turn that completes. */
export const endTurn = { stopReason: 'end_turn' };

/** The behaviour of an agent, where it differs from a correct agent. */
export interface AcpBehavior {
  /** Result of a request, by method; undefined is sent as null. */
  methods?: Record<string, (params: Params, agent: RawAgent) => unknown>;
  /** Result of a prompt, by its text. The agent echoes all other prompts. */
  turns?: Record<string, (agent: RawAgent, params: Params) => unknown>;
}

/** The capabilities of a correct agent. */
export const capabilities = {
  loadSession: true,
  promptCapabilities: { image: true },
  sessionCapabilities: { resume: {} },
};

export function initialized(more: object = {}): object {
  return {
    protocolVersion: 1,
    agentInfo: { name: 'raw', version: '1.0' },
    agentCapabilities: capabilities,
    ...more,
  };
}

const goodMethods: NonNullable<AcpBehavior['methods']> = {
  initialize: () => initialized(),
  'session/new': (_params, agent) => ({ sessionId: `raw-${agent.pid}` }),
  'session/load': () => ({}),
  'session/resume': () => ({}),
  'session/set_mode': () => ({}),
  'session/set_config_option': () => ({ configOptions: [] }),
};

/** The test's side of one agent process. It writes its own JSON lines, so that they can be invalid. */
export class RawAgent extends ScriptedProcess<Message> {
  readonly #behavior: AcpBehavior;
  readonly #answers = new Map<string, (message: Message) => void>();
  #ids = 0;

  constructor(socket: net.Socket, hello: Hello, behavior: AcpBehavior) {
    super(socket, hello);
    this.#behavior = behavior;
  }

  send(...messages: object[]): void {
    this.write(messages.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join(''));
  }

  update(...updates: object[]): void {
    this.send(...updates.map((update) => this.updating(update)));
  }

  /** Returns the message that `update` sends. */
  updating(update: object): object {
    const sessionId = this.last('session/prompt')?.params?.sessionId ?? `raw-${this.pid}`;
    return { method: 'session/update', params: { sessionId, update } };
  }

  say(text: string): void {
    this.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  }

  /** Sends a request; resolves with the whole response, even if it is an error. */
  request(method: string, params: object, id = `ask-${++this.#ids}`): Promise<Message> {
    const answered = Promise.withResolvers<Message>();
    this.#answers.set(id, answered.resolve);
    this.send({ id, method, params });
    return answered.promise;
  }

  /** Requests permission; resolves with the outcome. */
  async ask(
    toolCall: object,
    options: readonly object[] = usualOptions,
  ): Promise<{ outcome?: string; optionId?: string }> {
    const sessionId = this.last('session/prompt')?.params?.sessionId;
    const params = { sessionId, toolCall, options };
    const { result } = await this.request('session/request_permission', params);
    return (result as { outcome?: object } | undefined)?.outcome ?? {};
  }

  /** Resolves with the process id of the child that `outlive` starts, once the child runs. */
  async child(): Promise<number> {
    await until('its child runs', () => this.reports.some(({ child }) => child !== undefined));
    return this.reports.find(({ child }) => child !== undefined)?.child ?? 0;
  }

  /** Returns the last message with a method that cadre has sent. */
  last(method: string): Message | undefined {
    return this.received.findLast((message) => message.method === method);
  }

  /** Resolves with the parameters of the last message with a method, once cadre has sent one. */
  async untilReceived(method: string): Promise<Params> {
    await until(`${method} was sent`, () => this.last(method) !== undefined);
    return this.last(method)?.params ?? {};
  }

  protected override handle(message: Message): void {
    const { id, method } = message;
    if (method === undefined) this.#answers.get(String(id))?.(message);
    else if (id !== undefined) void this.#answer(message);
  }

  async #answer({ id, method = '', params = {} }: Message): Promise<void> {
    const handler = this.#behavior.methods?.[method] ?? goodMethods[method];
    try {
      if (handler) this.send({ id, result: (await handler(params, this)) ?? null });
      else if (method === 'session/prompt')
        this.send({ id, result: (await this.#turn(params)) ?? null });
      else throw new Refusal(-32_601, `no method ${method}`);
    } catch (error) {
      const said = error instanceof Refusal ? error : new Refusal(-32_603, String(error));
      this.send({ id, error: { code: said.code, message: said.message, data: said.data } });
    }
  }

  #turn(params: Params): unknown {
    const [first] = params.prompt as { text?: string }[];
    const text = first?.text ?? '';
    const handler = this.#behavior.turns?.[text];
    if (handler) return handler(this, params);
    this.say(text);
    return endTurn;
  }
}

/** The permission options of most agents. */
export const usualOptions = [
  { optionId: 'a1', kind: 'allow_once', name: 'Allow once' },
  { optionId: 'aa', kind: 'allow_always', name: 'Always allow' },
  { optionId: 'r1', kind: 'reject_once', name: 'Reject' },
];

export interface RawAgentOptions extends AgentHarnessOptions {
  /** More keys of `[providers.acp]`. */
  acp?: Record<string, unknown> & { env?: Record<string, string> };
  /** Names of agents in the catalogue that are scripted, too. */
  agents?: readonly string[];
}

export type RawAgentHarness = AgentHarness<RawAgent>;
export type RawSession = WatchedSession;

export const { forTest: testRawAgent, shared: sharedRawAgent } = agentHarnesses(
  (
    behavior: AcpBehavior,
    { acp = {}, agents: names = [], ...given }: Partial<RawAgentOptions>,
  ) => ({
    ...given,
    provider: 'acp',
    connect: (socket, hello) => new RawAgent(socket, hello, behavior),
    section(program) {
      const started = { ...program, env: { ...program.env, ...acp.env } };
      const agents = Object.fromEntries(names.map((name) => [name, started]));
      return {
        request_timeout_ms: scaled(8000),
        ...(names.length > 0 && { agents }),
        ...started,
        ...acp,
        env: started.env,
      };
    },
  }),
);
