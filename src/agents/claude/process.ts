import { addAbortListener } from 'node:events';
import { z } from 'zod';
import type { Child } from '../../core/children/supervisor.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { newUuid } from '../../core/lib/ids.ts';
import {
  endAgent,
  agentEndOf,
  lossOf,
  type ProgramOptions,
  replyTo,
  startAgent,
  tailOf,
} from '../agent-process.ts';
import { Connection, type Handlers } from './connection.ts';
import type { Model } from '../../api/providers.ts';
import type { Session } from '../../api/sessions.ts';
import { type ForkPoint, hasContent } from '../conversations.ts';
import { reportNoFork } from '../fork.ts';
import { OutputLines } from '../output-lines.ts';
import {
  type AgentSink,
  type AgentTools,
  ProviderError,
  silentSink,
  type ToolChannel,
} from '../provider.ts';
import type { ToolEnvelope } from '../../api/gateway.ts';
import { bypassRefused, type Initialized, readInitialized } from './settings.ts';
import type { InstalledAgentDeps } from '../installed.ts';

/** The time limit of control requests, which claude answers soon, also on a busy machine. */
const REQUEST_MS = 120_000;

export class ClaudeProcess {
  readonly pid: number;
  /** Resolves when it is gone and all its output was read, with why it ended. */
  readonly gone: Promise<string>;
  readonly isLost: () => boolean;
  readonly connection: Connection;
  readonly #child: Child;
  readonly #clock: Clock;
  /** The last lines of stderr: claude writes the reason of some failures there alone. */
  readonly stderr: () => string;

  /** `from`: the offset in the output of the child from which it is read. */
  constructor(child: Child, clock: Clock, handlers: Handlers, from = 0) {
    this.#child = child;
    this.#clock = clock;
    this.pid = child.pid;
    this.stderr = tailOf(child.stderr);
    this.connection = new Connection(child, handlers, from);
    const { readProgress: heard, nonProtocol } = this.connection;
    this.isLost = lossOf(child, heard);
    const stderr = () => this.stderr() || nonProtocol.last;
    this.gone = agentEndOf(child, { heard, stderr, clock });
  }

  /** Sends a control request that claude answers soon. Throws as `replyTo` does. */
  ask(subtype: string, more: object = {}): Promise<unknown> {
    const answer = this.connection.request(subtype, more);
    const limits = { ms: REQUEST_MS, clock: this.#clock, gone: this.gone };
    return replyTo({ provider: 'claude', method: subtype, answer }, limits);
  }

  /**
   * Ends the process and all its children. A turn continues after the end of the input, so the caller does not wait for
   * a busy process.
   */
  end(graceMs: number, isBusy: boolean): Promise<void> {
    return endAgent(this.#child, { graceMs, isIdle: !isBusy, clock: this.#clock });
  }
}

/**
 * How claude says, on stderr alone, that it does not have a session, or cannot fork it at a message. Claude does not fork at
 * messages from before a compaction, and older versions do not fork at messages at all.
 */
const GONE_WORDS =
  /no conversation found|no message found with|unknown option '--(?:fork-session|resume-session-at)/i;
/** How it says there that it refuses to run without asking. */
const ROOT_WORDS = /root\/sudo/i;

/** The program, with the arguments before the arguments of the adapter, and the dependencies of an agent. */
export interface ClaudeOptions extends ProgramOptions, InstalledAgentDeps {
  /** Returns the program for another process, whose API key may be a new one. */
  program: () => Promise<ProgramOptions>;
  /** Starts a process by `start`, and records whether it came up. */
  starting: <T>(start: () => Promise<T>) => Promise<T>;
  /** The modes that claude has named; null: it has named none yet. */
  modes: () => readonly string[] | null;
  onModes: (modes: readonly string[]) => void;
  onInitialized: (initialized: Pick<Initialized, 'version' | 'models'>) => void;
}

const SPEAKING = [
  '-p',
  '--input-format=stream-json',
  '--output-format=stream-json',
  '--verbose',
  '--include-partial-messages',
  '--permission-prompt-tool=stdio',
];

/** For a process that is at no turn. */
const silent = (): Handlers => ({
  lines: new OutputLines({ sink: silentSink, child: null, save: () => null }),
  onMessage: () => undefined,
  onRequest: () => Promise.resolve(null),
  onUnknown: () => undefined,
});

/** The models that claude lists, asked of a process that is started for that alone. */
export async function askModels(cwd: string, options: ClaudeOptions): Promise<Model[]> {
  let models: Model[] = [];
  const onInitialized = (initialized: Initialized) => {
    models = initialized.models;
    options.onInitialized(initialized);
  };
  const start = { cwd, what: 'claude, started to list its models', args: [], hello: {} };
  const connect = (child: Child) => new ClaudeProcess(child, options.clock, silent());
  const claude = await startInitialized(start, connect, { ...options, onInitialized });
  await claude.end(0, false);
  return models;
}

type StartOptions = Omit<ClaudeOptions, 'onInitialized'> & {
  onInitialized: (initialized: Initialized) => void;
};

/**
 * Starts a process, which `connect` connects with, and initializes it; ends the process where that fails or the signal
 * aborts meanwhile. Throws {@link ProviderError}: `resume_failed` where claude does not have the session that its
 * arguments name.
 */
export async function startInitialized(
  { hello, servers = null, isOfSession = false, args, ...about }: ProcessStart,
  connect: (child: Child) => ClaudeProcess,
  options: StartOptions,
): Promise<ClaudeProcess> {
  const { signal, starting, supervisor } = options;
  signal.throwIfAborted();
  const words = [...options.args, ...SPEAKING, ...args];
  const start = { ...options, ...about, outlives: isOfSession, args: words };
  const child = await startAgent(supervisor, start, 'claude: the agent');
  const claude = connect(child);
  using _listener = addAbortListener(signal, () => void claude.end(0, true));
  await starting(() => initialize(claude, { hello, servers }, options));
  return claude;
}

interface ProcessStart {
  cwd: string;
  /** For the ledger and the log. */
  what: string;
  args: readonly string[];
  hello: object;
  /** Whether it serves a session. Another server may then take it over. */
  isOfSession?: boolean;
  /** The MCP servers that it uses from its first turn on; null: none but its own. */
  servers?: object | null;
}

async function initialize(
  claude: ClaudeProcess,
  { hello, servers }: Pick<ProcessStart, 'hello' | 'servers'>,
  { signal, onInitialized }: StartOptions,
): Promise<void> {
  try {
    onInitialized(readInitialized(await claude.ask('initialize', hello)));
    if (servers) await claude.ask('mcp_set_servers', { servers });
    signal.throwIfAborted();
  } catch (error) {
    await claude.end(0, true);
    signal.throwIfAborted();
    const stderrTail = claude.stderr();
    if (GONE_WORDS.test(stderrTail)) {
      const message = `claude: cannot resume the session: ${stderrTail}`;
      throw new ProviderError('resume_failed', message, { cause: error });
    }
    if (ROOT_WORDS.test(stderrTail)) throw bypassRefused();
    throw error;
  }
}

const TOOL_SERVER = 'cadre';

/** Returns the start of the process of a session. `which`: the arguments for its conversation. */
export function startOf(
  session: Session,
  which: readonly string[],
  { isForBypass, tools }: { isForBypass: boolean; tools: AgentTools },
): ProcessStart {
  const mode = isForBypass ? ['--allow-dangerously-skip-permissions'] : [];
  // The tools of cadre decide themselves what they may do.
  const allowed = `--allowedTools=mcp__${TOOL_SERVER}`;
  return {
    cwd: session.cwd,
    what: `claude of ${session.id}`,
    args: [...which, '--permission-mode=default', allowed, ...mode],
    isOfSession: true,
    hello: { sdkMcpServers: [TOOL_SERVER] },
    servers: serversFor(tools),
  };
}

/**
 * Returns the MCP servers of a session. Claude receives them over its input, so that no secret is in a file or
 * argument. Null if the client gave none. They replace the servers that claude was started with, so they include the
 * server of cadre.
 */
function serversFor({ others }: AgentTools): Record<string, object> | null {
  if (others.length === 0) return null;
  const entries = others.map(({ name, ...server }): [string, object] => [name, server]);
  return { ...Object.fromEntries(entries), [TOOL_SERVER]: { type: 'sdk', name: TOOL_SERVER } };
}

const carried = z.looseObject({
  server_name: z.literal(TOOL_SERVER),
  message: z.looseObject({
    id: z.union([z.string(), z.number()]).optional(),
    method: z.string().optional(),
  }),
});
type Carried = z.output<typeof carried>['message'];

/** The result of a tool call that an earlier server has begun, and perhaps ended. */
const CUT_OFF: ToolEnvelope = {
  ok: false,
  error: {
    code: 'internal',
    message: 'the server was restarted during this call: check its effects before you repeat it',
  },
};

const cutOff = { content: [{ type: 'text', text: JSON.stringify(CUT_OFF) }], isError: true };

/** Carries MCP messages over the control channel: claude wraps each in a control request of its own. */
export class ToolsChannel {
  readonly #channel: ToolChannel;
  readonly #waiting = new Map<unknown, (answer: object) => void>();
  readonly #onCall: () => void;

  /** `onCall` is called before each call of a tool. */
  constructor(tools: AgentTools, onCall: () => void) {
    this.#onCall = onCall;
    this.#channel = tools.connect((message) => {
      const { id } = message as { id?: unknown };
      this.#waiting.get(id)?.(message);
      this.#waiting.delete(id);
    });
  }

  /**
   * The answer to a control request; null where the request carries no message for the tools of cadre. `isAgain`: an
   * earlier server has begun to answer it. A call of a tool may have had effects, so it is not repeated.
   */
  answer(request: unknown, isAgain: boolean): Promise<object> | null {
    const message = carried.safeParse(request).data?.message;
    if (!message) return null;
    const isCall = message.method === 'tools/call';
    if (isCall && !isAgain) this.#onCall();
    const answered =
      isCall && isAgain
        ? Promise.resolve({ jsonrpc: '2.0', id: message.id, result: cutOff })
        : this.#send(message);
    return answered.then((mcp_response) => ({ mcp_response }));
  }

  #send(message: Carried): Promise<object> {
    const answered = Promise.withResolvers<object>();
    const { id } = message;
    // A notification has no answer, but the control request that carries it does.
    if (id === undefined) {
      this.#channel.take(message);
      return Promise.resolve({ jsonrpc: '2.0', result: {} });
    }
    // Two MCP clients of one claude may use the same id at once.
    const ownId = this.#waiting.has(id) ? newUuid() : id;
    this.#waiting.set(ownId, (answer) => answered.resolve({ ...answer, id }));
    this.#channel.take({ ...message, id: ownId });
    return answered.promise;
  }

  close(): void {
    this.#channel.close();
  }
}

/** How a process of claude begins. */
export type Beginning = 'new' | 'resume' | ForkPoint;

/** Returns the arguments for the session `ref`. */
export function argumentsOf(beginning: Beginning, ref: string): string[] {
  if (beginning === 'new') return [`--session-id=${ref}`];
  if (beginning === 'resume') return [`--resume=${ref}`];
  const { ref: origin, turnRef } = beginning;
  const at = turnRef === null ? [] : [`--resume-session-at=${turnRef}`];
  return [`--resume=${origin}`, '--fork-session', ...at, `--session-id=${ref}`];
}

/** Starts claude: it resumes the conversation of the session, forks another one, or starts an empty one. */
export async function begin(
  start: (beginning: Beginning) => Promise<void>,
  { session, sink, fork }: { session: Session; sink: AgentSink; fork: ForkPoint | null },
): Promise<void> {
  const refusalOf = (beginning: Beginning) =>
    start(beginning).then(
      () => null,
      (error: unknown) => {
        // Claude keeps no session that has had no answer: there is nothing to resume, and nothing to lose.
        const isGone = error instanceof ProviderError && error.code === 'resume_failed';
        if (hasContent(session) || !isGone) throw error;
        return error.message;
      },
    );
  if (session.provider_session_ref !== null && (await refusalOf('resume')) === null) return;
  const refusal = fork && (await refusalOf(fork));
  if (fork && refusal === null) return;
  if (refusal !== null) await reportNoFork(sink, refusal);
  await start('new');
}
