import { z } from 'zod';
import type { Child } from '../../core/children/supervisor.ts';
import { version } from '../../core/lib/self.ts';
import {
  answered,
  agentEndOf,
  exitsWithin,
  LOST_GRACE_MS,
  lossOf,
  type ProgramOptions,
  startAgent,
  tailOf,
} from '../agent-process.ts';
import { unavailable } from '../provider.ts';
import { Login } from './authenticate.ts';
import { AcpConnection, type AcpHandlers, agentError } from './connection.ts';
import type { LastSeen } from './last-seen.ts';
import { recognise, type ResolvedAgent } from './resolve.ts';
import { fieldOf, maybe } from '../lenient.ts';

const PROTOCOL_VERSION = 1;
/** Capabilities of cadre as an ACP client. Agents access files and run commands themselves. */
const clientCapabilities = {
  fs: { readTextFile: false, writeTextFile: false },
  terminal: false,
  elicitation: { form: {}, url: {} },
  session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
  // The command line runs the login programs of agents. Agents of before the standard look for the other one.
  auth: { terminal: true },
  _meta: { 'terminal-auth': true },
};

export interface StartOptions extends ProgramOptions {
  agent: ResolvedAgent;
  /** Facts about the agent that outlive this process. */
  lastSeen: LastSeen;
  cwd: string;
  /** For the ledger and the log. */
  what: string;
  /** Aborting it ends the agent while it starts. */
  signal: AbortSignal;
  onUnknown: () => void;
  onVersion: (version: string) => void;
  /** Starts an agent by `start`, and records whether it came up. */
  starting: <T>(start: () => Promise<T>) => Promise<T>;
}

export type AgentAbilities = ReturnType<typeof abilitiesIn>;

/** A capability in `_meta` by which the demo agent says that it uses no tools, so that no sidecar runs for it. */
const NO_TOOLS = 'cadre/no-tools';

/** Reads the capabilities in the answer of an agent to `initialize`. */
function abilitiesIn(capabilities: unknown) {
  const has = (group: string, name: string) => fieldOf(fieldOf(capabilities, group), name);
  return {
    load: fieldOf(capabilities, 'loadSession') === true,
    resume: Boolean(has('sessionCapabilities', 'resume')),
    list: Boolean(has('sessionCapabilities', 'list')),
    delete: Boolean(has('sessionCapabilities', 'delete')),
    fork: Boolean(has('sessionCapabilities', 'fork')),
    image: has('promptCapabilities', 'image') === true,
    logOut: Boolean(has('auth', 'logout')),
    /** Which MCP servers it takes beside those that it starts itself, and whether it uses the tools of cadre. */
    mcp: {
      http: has('mcpCapabilities', 'http') === true,
      sse: has('mcpCapabilities', 'sse') === true,
      tools: has('_meta', NO_TOOLS) !== true,
    },
  };
}

const agentInfo = maybe(z.looseObject({ name: z.string(), version: z.string() }));

/** Starts the process of an agent. Throws {@link ProviderError}. */
export function startChild(options: StartOptions): Promise<Child> {
  const { supervisor, command, args, cwd, env, what, sandbox = null } = options;
  return startAgent(
    supervisor,
    { command, args, cwd, env, what, sandbox, outlives: true },
    'acp: the agent',
  );
}

export class AcpProcess {
  readonly pid: number;
  /** Resolves when it is gone and all its output was read, with why it ended. */
  readonly gone: Promise<string>;
  readonly isLost: () => boolean;
  /** Nothing until it is initialized. */
  can = abilitiesIn(null);
  readonly login: Login;
  readonly connection: AcpConnection;
  readonly #child: Child;
  readonly #options: StartOptions;
  #info: z.output<typeof agentInfo> = null;

  /** `from`: the offset in the output of the child from which it is read. */
  constructor(
    child: Child,
    options: StartOptions,
    handlers: Omit<AcpHandlers, 'onAuthStatus'>,
    from = 0,
  ) {
    this.#child = child;
    this.#options = options;
    this.pid = child.pid;
    this.login = new Login(options, (method, params) => this.ask(method, params));
    const onAuthStatus = (params: unknown) => options.lastSeen.auth.updated(params);
    this.connection = new AcpConnection(child, { ...handlers, onAuthStatus }, from);
    const { readProgress: heard, nonProtocol } = this.connection;
    const stderr = tailOf(child.stderr);
    this.isLost = lossOf(child, heard);
    this.gone = agentEndOf(child, {
      heard,
      stderr: () => [stderr(), nonProtocol.text].filter(Boolean).join(' | '),
      clock: options.clock,
    });
  }

  /** Agrees on the protocol. Throws {@link ProviderError} where the agent speaks another version of it. */
  async initialize(): Promise<void> {
    const answer = await this.ask('initialize', {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: 'cadre', version },
      clientCapabilities,
    });
    const theirs = fieldOf(answer, 'protocolVersion');
    if (theirs !== PROTOCOL_VERSION) {
      throw unavailable(
        `acp: the agent uses ACP version ${typeof theirs === 'number' ? theirs : 'unknown'}, but cadre needs version ${PROTOCOL_VERSION}: install another version of the agent`,
      );
    }
    this.#noteInfo(agentInfo.parse(fieldOf(answer, 'agentInfo')));
    this.login.initialized(answer);
    this.can = abilitiesIn(fieldOf(answer, 'agentCapabilities'));
  }

  #noteInfo(info: z.output<typeof agentInfo>): void {
    this.#info = info;
    if (!info) return;
    this.#options.onVersion(`${info.name} ${info.version}`);
    recognise(this.#options.agent, info.name);
  }

  save() {
    const { can, login, connection } = this;
    const output = connection.nonProtocol.save();
    return { info: this.#info, can, methods: login.methods, output };
  }

  restore({ info, can, methods, output }: ReturnType<AcpProcess['save']>): void {
    this.#noteInfo(info);
    this.can = can;
    this.login.methods = methods;
    this.connection.nonProtocol.restore(output);
  }

  /** Sends a request that the agent answers soon. Throws {@link ProviderError}, caused by the agent's own error. */
  async ask(method: string, params: object): Promise<unknown> {
    const { clock, agent } = this.#options;
    const answer = this.request(method, params).catch(async (error: unknown) => {
      throw agentError(error) ? error : new Error(await this.describeLoss(), { cause: error });
    });
    try {
      return await answered(answer, { ms: agent.requestTimeoutMs, clock, gone: this.gone });
    } catch (error) {
      const why = this.withNonProtocolOutput(
        agentError(error)?.message ?? (error as Error).message,
      );
      throw unavailable(`acp: request "${method}" to the agent failed: ${why}`, error);
    }
  }

  /** Sends a request without a time limit. Rejects as `AcpConnection.request` does. */
  request(method: string, params: object): Promise<unknown> {
    return this.connection.request(method, params);
  }

  /**
   * Returns the failure with the agent's recent non-protocol output, because some agents explain failures only there.
   */
  withNonProtocolOutput(what: string): string {
    const { text } = this.connection.nonProtocol;
    return text === '' || what.includes(text) ? what : `${what}; output of the agent: ${text}`;
  }

  /** Leaves out of later errors what the agent has written so far. */
  forgetNonProtocolOutput(): void {
    this.connection.nonProtocol.forget();
  }

  get canResume(): boolean {
    return this.can.resume || this.can.load;
  }

  notify(method: string, params: object): void {
    this.connection.notify(method, params);
  }

  /** Why the connection ended. An agent that lives on without one is of no use, so it is ended. */
  async describeLoss(): Promise<string> {
    if (!(await exitsWithin(this.#child, LOST_GRACE_MS, this.#options.clock)))
      await this.#child.end(0);
    return `the agent ${await this.gone}`;
  }

  /** Ends it and all it started; resolves when nothing is left. */
  async end(graceMs: number): Promise<void> {
    this.#child.stdin.end();
    await this.#child.end(graceMs);
    this.connection.close();
  }
}
