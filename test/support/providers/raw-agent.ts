import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { endpoints } from '../../../src/api/index.ts';
import type { RecoverySummary } from '../../../src/api/runtime.ts';
import type { ProviderDiagnostics } from '../../../src/api/providers.ts';
import type { Session, Turn } from '../../../src/api/sessions.ts';
import type { Client } from '../../../src/client/client.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { untilNothingCarries } from '../server.ts';
import { scaled } from '../patience.ts';
import { openRuntime, type TestRuntime } from '../runtime.ts';
import { tempDirectory } from '../temp.ts';
import { onceGone, puppetOn } from './puppet.ts';
import { type Input, run, send, sessionOf, until, type Wishes } from './calls.ts';
import { Watch } from './watch.ts';

/** A JSON-RPC message, as it is on the wire. */
export interface Message {
  id?: number | string | null;
  method?: string;
  params?: Params;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}
export type Params = Record<string, unknown>;

/** What an agent answers instead of a result. */
export class Refusal extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** What an agent that never answers answers. */
export const never = new Promise<never>(() => undefined);

/** How a good turn ends. */
export const endTurn = { stopReason: 'end_turn' };

/** What an agent does; for all that is not said here it is a good one. */
export interface Role {
  /** Its answer to a request, by method; undefined is null. */
  methods?: Record<string, (params: Params, agent: RawAgent) => unknown>;
  /** Its answer to a prompt, by the prompt's text; any other is said again. */
  turns?: Record<string, (agent: RawAgent, params: Params) => unknown>;
}

/** The capabilities of a good agent. */
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

const goodMethods: NonNullable<Role['methods']> = {
  initialize: () => initialized(),
  'session/new': (_params, agent) => ({ sessionId: `raw-${agent.pid}` }),
  'session/load': () => ({}),
  'session/resume': () => ({}),
  'session/set_mode': () => ({}),
  'session/set_config_option': () => ({ configOptions: [] }),
};

/** What an agent's process says of itself (puppet.pl, or puppet.mjs): first of all who it is. */
interface Hello {
  pid: number;
  cwd: string;
}

/** And then what becomes of it. */
interface News {
  /** What cadre said to it. */
  line?: string;
  eof?: boolean;
  signal?: string;
  child?: number;
}

/** The test's end of one agent process: it writes JSON lines itself, so it can write any. */
export class RawAgent {
  readonly pid: number;
  readonly cwd: string;
  /** All that cadre has sent to it, oldest first. */
  readonly heard: Message[] = [];
  /** What else became of it: its end of file, signals, its child. */
  readonly fate: Omit<News, 'line'>[] = [];
  /** Whether the process is gone, and cadre, its parent, was told so. */
  gone = false;
  readonly #socket: net.Socket;
  readonly #role: Role;
  readonly #answers = new Map<string, (message: Message) => void>();
  #ids = 0;

  constructor(socket: net.Socket, hello: Hello, role: Role) {
    this.#socket = socket;
    this.#role = role;
    this.pid = hello.pid;
    this.cwd = hello.cwd;
    socket.once('close', () => onceGone(this.pid, () => (this.gone = true)));
  }

  /** Writes to its stdout, whatever it is. */
  write(text: string): void {
    this.#tell({ write: text });
  }

  send(...messages: object[]): void {
    this.write(messages.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join(''));
  }

  update(...updates: object[]): void {
    this.send(...updates.map((update) => this.updating(update)));
  }

  /** The message that `update` sends. */
  updating(update: object): object {
    const sessionId = this.last('session/prompt')?.params?.sessionId ?? `raw-${this.pid}`;
    return { method: 'session/update', params: { sessionId, update } };
  }

  say(text: string): void {
    this.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  }

  /** Sends a request; resolves with the whole answer, also where that is an error. */
  request(method: string, params: object, id = `ask-${++this.#ids}`): Promise<Message> {
    const answered = Promise.withResolvers<Message>();
    this.#answers.set(id, answered.resolve);
    this.send({ id, method, params });
    return answered.promise;
  }

  /** Asks for permission; resolves with the outcome. */
  async ask(
    toolCall: object,
    options: readonly object[] = usualOptions,
  ): Promise<{ outcome?: string; optionId?: string }> {
    const sessionId = this.last('session/prompt')?.params?.sessionId;
    const params = { sessionId, toolCall, options };
    const { result } = await this.request('session/request_permission', params);
    return (result as { outcome?: object } | undefined)?.outcome ?? {};
  }

  stderr(text: string): void {
    this.#tell({ stderr: text });
  }

  exit(code: number): void {
    this.#tell({ exit: code });
  }

  /** Closes its stdout, and lives on. */
  hangUp(): void {
    this.#tell({ hangUp: true });
  }

  /** Makes it, and a child of it, live on whatever happens but a SIGKILL. */
  async outlive(): Promise<{ child: number }> {
    this.#tell({ outlive: true });
    await until('its child runs', () => this.fate.some(({ child }) => child !== undefined));
    return { child: this.fate.find(({ child }) => child !== undefined)?.child ?? 0 };
  }

  /** The last that cadre sent of a method. */
  last(method: string): Message | undefined {
    return this.heard.findLast((message) => message.method === method);
  }

  /** Waits until cadre has sent a message of a method, or has. */
  async hears(method: string): Promise<Params> {
    await until(`${method} was sent`, () => this.last(method) !== undefined);
    return this.last(method)?.params ?? {};
  }

  /** Takes what its process says. */
  take({ line, ...fate }: News): void {
    if (line === undefined) this.fate.push(fate);
    else this.#hear(JSON.parse(line) as Message);
  }

  #hear(message: Message): void {
    this.heard.push(message);
    const { id, method } = message;
    if (method === undefined) this.#answers.get(String(id))?.(message);
    else if (id !== undefined) void this.#answer(message);
  }

  async #answer({ id, method = '', params = {} }: Message): Promise<void> {
    const play = this.#role.methods?.[method] ?? goodMethods[method];
    try {
      if (play) this.send({ id, result: (await play(params, this)) ?? null });
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
    const play = this.#role.turns?.[text];
    if (play) return play(this, params);
    this.say(text);
    return endTurn;
  }

  #tell(order: object): void {
    if (!this.#socket.destroyed) this.#socket.write(`${JSON.stringify(order)}\n`);
  }
}

/** What most agents offer. */
export const usualOptions = [
  { optionId: 'a1', kind: 'allow_once', name: 'Allow once' },
  { optionId: 'aa', kind: 'allow_always', name: 'Always allow' },
  { optionId: 'r1', kind: 'reject_once', name: 'Reject' },
];

export interface RawOptions {
  /** More of `[providers.acp]`. */
  acp?: Record<string, unknown> & { env?: Record<string, string> };
  /** Names of agents that are played as well, each with what the catalogue knows of it. */
  agents?: readonly string[];
  /** More of `[providers]`. */
  providers?: Record<string, unknown>;
  /** `[gateway]`. */
  gateway?: Record<string, unknown>;
  clock?: Clock;
}

/** A runtime in this process whose acp agents are played by the test. */
export interface RawStage {
  readonly given: TestRuntime;
  readonly client: Client;
  /** Where sessions work. */
  readonly cwd: string;
  /** Every agent that was started, oldest first. */
  readonly agents: readonly RawAgent[];
  /** Opens a session, which is watched from its beginning. */
  open(more?: object): Promise<RawSession>;
  diagnostics(): Promise<ProviderDiagnostics>;
  /** Waits until no agent's process is left. */
  noAgents(): Promise<void>;
  /** What the last start found, once it is done with it. */
  recovered(): Promise<RecoverySummary>;
  /** Closes all sessions, and forgets them and their agents. */
  clear(): Promise<void>;
  /** Stops the runtime and starts another on the same data. Sessions have to be watched again. */
  restart(): Promise<void>;
}

/** One session, watched. */
export class RawSession {
  readonly id: string;
  readonly watch: Watch;
  readonly #client: Client;

  constructor(client: Client, id: string) {
    this.#client = client;
    this.id = id;
    this.watch = new Watch(client, id);
  }

  send(input: Input, more: Wishes = {}): Promise<string> {
    return send(this.#client, this, input, more);
  }

  run(input: Input, more: Wishes = {}): Promise<Turn> {
    return run(this.#client, this.watch, this, input, more);
  }

  record(): Promise<Session> {
    return sessionOf(this.#client, this);
  }
}

/** Runs `test` with agents that play a role, and ends everything whatever happens. */
export async function withRawAgent(
  role: Role,
  test: (stage: RawStage) => Promise<void>,
  { acp = {}, agents: names = [], providers = {}, gateway = {}, clock }: RawOptions = {},
): Promise<void> {
  await using own = tempDirectory('raw');
  const agents: RawAgent[] = [];
  const sessions: RawSession[] = [];
  const socket = path.join(own.path, 'socket');
  const theatre = net.createServer((connection) => receive(connection, role, agents));
  theatre.listen(socket);
  await once(theatre, 'listening');
  const cwd = own.path;
  const { env, ...program } = puppetOn(socket);
  const played = { ...program, env: { ...env, ...acp.env } };
  const start = () =>
    openRuntime(path.join(own.path, 'data'), {
      config: {
        gateway,
        providers: {
          ...providers,
          acp: {
            request_timeout_ms: scaled(8000),
            ...(names.length > 0 && {
              agents: Object.fromEntries(names.map((name) => [name, played])),
            }),
            ...played,
            ...acp,
            env: played.env,
          },
        },
      },
      ...(clock && { clock }),
    });
  let given = await start();
  const leave = () =>
    Promise.all(sessions.splice(0).map(({ watch }) => watch[Symbol.asyncDispose]()));
  const noAgents = () => until('no agent is left', () => agents.every(({ gone }) => gone));
  const stop = async () => {
    await leave();
    given.client.close();
    await given.runtime.stop(AbortSignal.abort());
    await untilNothingCarries(own.path);
  };
  try {
    await test({
      get given() {
        return given;
      },
      get client() {
        return given.client;
      },
      cwd,
      agents,
      async open(more = {}) {
        const body = { provider: 'acp' as const, cwd, ...more };
        const { id } = await given.client.call(endpoints.createSession, { body });
        const session = new RawSession(given.client, id);
        sessions.push(session);
        return session;
      },
      async diagnostics() {
        const [own] = await given.client.call(endpoints.getProviderDiagnostics, {});
        if (!own) throw new Error('there is no provider');
        return own;
      },
      noAgents,
      async recovered() {
        const read = () => given.client.call(endpoints.getRecovery, {});
        await until('recovery is done', async () => (await read()).status === 'done');
        return read();
      },
      async clear() {
        for (const { id } of sessions)
          await given.client.call(endpoints.closeSession, { params: { session_id: id }, body: {} });
        await leave();
        await noAgents();
        agents.length = 0;
      },
      async restart() {
        await stop();
        given = await start();
      },
    });
  } finally {
    await stop();
    theatre.close();
  }
}

function receive(connection: net.Socket, role: Role, agents: RawAgent[]): void {
  let agent: RawAgent | undefined;
  connection.on('error', () => undefined);
  const lines = createInterface({ input: connection });
  // It has the errors of its input, too: an agent that is killed resets the connection.
  lines.on('error', () => undefined);
  lines.on('line', (line) => {
    const message = JSON.parse(line) as Hello & News;
    if (agent) agent.take(message);
    else agents.push((agent = new RawAgent(connection, message, role)));
  });
}
