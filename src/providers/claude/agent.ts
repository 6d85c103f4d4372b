import type { Model } from '../../api/providers.ts';
import type { Session, StoredInputItem } from '../../api/sessions.ts';
import type { Supervisor } from '../../children/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import { newUuid } from '../../lib/ids.ts';
import {
  type Agent,
  type AgentSink,
  type AgentTools,
  failed,
  ProviderError,
  type TurnOutcome,
  type TurnSettings,
} from '../provider.ts';
import { imageData } from '../image-data.ts';
import { type Connection, type Handlers, type Message, Refusal } from './connection.ts';
import { outcomeOf, textOf } from './outcome.ts';
import {
  approvalRequest,
  type Permission,
  readPermission,
  refusalOf,
  responseTo,
} from './permission.ts';
import { ClaudeProcess } from './process.ts';
import {
  bypassRefused,
  BYPASS,
  mayBypass,
  modeOf,
  objectionTo,
  readInitialized,
  readModel,
  readModes,
} from './settings.ts';
import { kindOf, titleOf } from './tools.ts';
import { TOOL_SERVER, ToolsChannel } from './tools-channel.ts';
import { Reader } from './updates.ts';
import { readResultUsage } from './usage.ts';

/** How claude says, on stderr alone, that it does not have a session. */
const GONE_WORDS = /no conversation found/i;
const ROOT_WORDS = /root\/sudo/i;

export interface ClaudeOptions {
  command: string;
  /** What is configured; ours come after them. */
  args: readonly string[];
  env: Record<string, string>;
  /** Whether it has a home that is cadre's alone. */
  hasOwnHome: boolean;
  supervisor: Supervisor;
  clock: Clock;
  signal: AbortSignal;
  /** The tools that the agent of a session is given. */
  toolsFor: (sessionId: string) => AgentTools;
  onUnknown: () => void;
  /** Has a process come up, and notes whether it did. */
  starting: <T>(start: () => Promise<T>) => Promise<T>;
  /** The modes that claude has told of; null: it has not yet. */
  modes: () => readonly string[] | null;
  onModes: (modes: readonly string[]) => void;
  /** Told what claude says of itself. */
  onInitialized: (said: { version: string | null; models: Model[] }) => void;
}

const SPEAKING = [
  '-p',
  '--input-format=stream-json',
  '--output-format=stream-json',
  '--verbose',
  '--include-partial-messages',
  '--permission-prompt-tool=stdio',
];

/** Starts an agent for one session, or resumes the session in a new one. Errors as in `Provider.open`. */
export async function openClaude(
  session: Session,
  sink: AgentSink,
  options: ClaudeOptions,
): Promise<Agent> {
  const { provider_session_ref: ref } = session;
  const agent = new ClaudeAgent(ref ?? newUuid(), session, sink, options);
  try {
    await agent.start(ref !== null);
    return agent;
  } catch (error) {
    // Claude keeps no session that has had no answer: there is nothing to resume, and nothing to lose.
    const isEmpty = !session.usage?.output_tokens && isResumeFailed(error);
    if (!isEmpty) throw error;
    await agent.start(false);
    return agent;
  }
}

/** What claude says of itself, asked in a process for that alone. */
export async function askClaude(cwd: string, options: ClaudeOptions): Promise<void> {
  const about = { cwd, what: 'claude that lists its models', args: [], hello: {} };
  const claude = await initialized(about, silent, options);
  await claude.end(0, false);
}

const silent: Handlers = {
  onMessage: () => undefined,
  onRequest: () => undefined,
  onWithdrawn: () => undefined,
  onUnknown: () => undefined,
};

/** Starts a process and initializes it; ends it again if that fails or the signal aborts meanwhile. */
async function initialized(
  { hello, ...about }: { cwd: string; what: string; args: readonly string[]; hello: object },
  handlers: Handlers,
  options: ClaudeOptions,
): Promise<ClaudeProcess> {
  const { signal, starting } = options;
  signal.throwIfAborted();
  const start = { ...options, ...about, args: [...options.args, ...SPEAKING, ...about.args] };
  const claude = await ClaudeProcess.start(start, handlers);
  const abort = () => void claude.end(0, true);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    await starting(() => greet(claude, hello, options));
    return claude;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Initializes a process; ends it where that fails, and says why as far as its stderr tells. */
async function greet(
  claude: ClaudeProcess,
  hello: object,
  { signal, onInitialized }: ClaudeOptions,
): Promise<void> {
  try {
    onInitialized(readInitialized(await claude.ask('initialize', hello)));
    signal.throwIfAborted();
  } catch (error) {
    await claude.end(0, true);
    signal.throwIfAborted();
    if (GONE_WORDS.test(claude.stderr)) {
      throw new ProviderError(
        'resume_failed',
        `claude: it does not have this session any more: ${claude.stderr}`,
        { cause: error },
      );
    }
    if (ROOT_WORDS.test(claude.stderr)) throw bypassRefused();
    throw error;
  }
}

function isResumeFailed(error: unknown): boolean {
  return error instanceof ProviderError && error.code === 'resume_failed';
}

/** One session, in one process at a time: another takes over where claude has to be started for a mode. */
class ClaudeAgent implements Agent {
  readonly ref: string;
  readonly defaults: TurnSettings = { permissionMode: null, model: null, thinkingEffort: null };
  readonly canResume = true;
  readonly gone: Promise<string>;
  readonly #gone = Promise.withResolvers<string>();
  readonly #session: Session;
  readonly #sink: AgentSink;
  readonly #options: ClaudeOptions;
  readonly #reader = new Reader();
  /** Requests that people are asked, by their id. */
  readonly #asking = new Map<string, AbortController>();
  #process: ClaudeProcess | undefined;
  #models: readonly Model[] = [];
  /** What the running process was last told. */
  #now = { mode: 'default', model: null as string | null, effort: null as string | null };
  #startedForBypass = false;
  /** Whether it has a transcript to be resumed from. */
  #hasBegun = false;
  readonly #over = new AbortController();
  #restarting: Promise<void> | undefined;
  #settings: TurnSettings = this.defaults;
  #cancelled = false;
  #turn: PromiseWithResolvers<TurnOutcome> | undefined;
  #costSoFar: number | null = null;

  constructor(ref: string, session: Session, sink: AgentSink, options: ClaudeOptions) {
    this.ref = ref;
    this.#session = session;
    this.#sink = sink;
    this.#options = options;
    this.gone = this.#gone.promise;
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  async start(isResumed: boolean): Promise<void> {
    const wantsBypass = modeOf(this.#session.permission_mode) === BYPASS;
    this.#hasBegun = isResumed;
    await this.#launch(wantsBypass && mayBypass(this.#options.env), this.#options);
  }

  objection(settings: TurnSettings): ProviderError | null {
    return objectionTo(settings, this.#models, this.#options.env, this.#options.modes());
  }

  async prompt(input: readonly StoredInputItem[], settings: TurnSettings): Promise<TurnOutcome> {
    this.#cancelled = false;
    // Claude folds what it is told during a turn into that turn: one that was given up on has to end first.
    await this.#turn?.promise;
    this.#settings = settings;
    await this.#apply(settings);
    const content = await Promise.all(input.map(contentOf));
    if (this.#cancelled) return { status: 'interrupted', error: null };
    const turn = Promise.withResolvers<TurnOutcome>();
    this.#turn = turn;
    this.#reader.begin();
    this.#hasBegun = true;
    this.#process?.connection.send({
      type: 'user',
      message: { role: 'user', content },
      parent_tool_use_id: null,
      session_id: '',
    });
    const lost = this.gone.then((how) => failed('provider_exited', `the agent ${how}`));
    const outcome = await Promise.race([turn.promise, lost]);
    turn.resolve(outcome);
    if (this.#turn === turn) this.#turn = undefined;
    return outcome;
  }

  cancel(): void {
    this.#cancelled = true;
    // Its answer tells nothing: the turn's result does.
    this.#process?.connection.request('interrupt').catch(() => undefined);
  }

  async end(graceMs: number): Promise<void> {
    this.#over.abort(new Error('the agent was ended'));
    // One that starts just now ends by that.
    await this.#restarting?.catch(() => undefined);
    await this.#process?.end(graceMs, this.#turn !== undefined);
  }

  /** What a turn wants, or what the session began with where it wants nothing. */
  async #apply({ permissionMode, model, thinkingEffort: effort }: TurnSettings): Promise<void> {
    const mode = modeOf(permissionMode);
    if (mode === BYPASS && !this.#startedForBypass) {
      this.#restarting = this.#restart();
      await this.#restarting;
    }
    if (mode !== this.#now.mode) {
      await this.#set('invalid_permission_mode', 'set_permission_mode', { mode });
      this.#now.mode = mode;
    }
    const wanted = model ?? this.defaults.model;
    if (wanted !== null && wanted !== (this.#now.model ?? this.defaults.model)) {
      await this.#set('invalid_model', 'set_model', { model: wanted });
      this.#now.model = wanted;
    }
    if (effort !== this.#now.effort) {
      const settings = { effortLevel: effort };
      await this.#set('invalid_thinking_effort', 'apply_flag_settings', { settings });
      this.#now.effort = effort;
    }
  }

  async #set(code: ProviderError['code'], subtype: string, wish: object): Promise<void> {
    try {
      await this.#process?.ask(subtype, wish);
    } catch (error) {
      const { cause, message } = error as Error;
      const modes = code === 'invalid_permission_mode' ? readModes(message) : null;
      if (modes) this.#options.onModes(modes);
      throw cause instanceof Refusal ? new ProviderError(code, message, { cause: error }) : error;
    }
  }

  async #restart(): Promise<void> {
    const before = this.#process;
    this.#process = undefined;
    await before?.end(LEAVING_MS, false);
    try {
      await this.#launch(true, { ...this.#options, signal: this.#over.signal });
    } catch (error) {
      this.#gone.resolve('could not be started again');
      throw error;
    }
  }

  async #launch(forBypass: boolean, options: ClaudeOptions): Promise<void> {
    const which = this.#hasBegun ? `--resume=${this.ref}` : `--session-id=${this.ref}`;
    const mode = forBypass ? ['--allow-dangerously-skip-permissions'] : [];
    const tools = new ToolsChannel(options.toolsFor(this.#session.id));
    const claude: ClaudeProcess = await initialized(
      {
        cwd: this.#session.cwd,
        what: `claude of ${this.#session.id}`,
        // What our tools may do is decided by them.
        args: [which, '--permission-mode=default', `--allowedTools=mcp__${TOOL_SERVER}`, ...mode],
        hello: { sdkMcpServers: [TOOL_SERVER] },
      },
      {
        onMessage: (message) => this.#take(message),
        onRequest: (id, request, connection) => void this.#answer(id, request, connection, tools),
        onWithdrawn: (id) => this.#asking.get(id)?.abort(),
        onUnknown: options.onUnknown,
      },
      {
        ...options,
        onInitialized: (said) => {
          this.#models = said.models;
          options.onInitialized(said);
        },
      },
    );
    this.#process = claude;
    this.#startedForBypass = forBypass;
    this.#now = { mode: 'default', model: null, effort: null };
    void claude.gone.then((how) => {
      tools.close();
      this.#lost(claude, how);
    });
    // What a turn that wishes for none goes back to, after one that did.
    this.defaults.model = await claude.ask('get_settings').then(readModel, () => null);
  }

  #lost(claude: ClaudeProcess, how: string): void {
    if (this.#process !== claude) return;
    for (const asking of this.#asking.values()) asking.abort();
    this.#gone.resolve(how);
  }

  #take(message: Message): Promise<void> | undefined {
    if (message.type === 'result') return this.#finish(message);
    // An interrupt that came before the turn had begun was not for it.
    if (this.#cancelled && this.#turn && isBeginning(message)) this.cancel();
    if (message.type === 'system') this.#noteMode(message);
    const updates = this.#reader.read(message);
    if (updates !== 'unknown') return this.#tell(updates);
    this.#options.onUnknown();
    return undefined;
  }

  async #finish(message: Message): Promise<void> {
    const outcome = outcomeOf(message, this.#options.hasOwnHome);
    const text = textOf(message);
    if (this.#turn && outcome.status === 'completed' && !this.#reader.hasSpoken && text)
      await this.#sink.update({ type: 'message', text });
    const { usage, costSoFar } = readResultUsage(message, this.#costSoFar);
    this.#costSoFar = costSoFar ?? this.#costSoFar;
    this.#turn?.resolve({ ...outcome, usage: { ...this.#reader.usage, ...usage } });
    // What follows is outside of it, also before whoever waits for it has noticed.
    this.#turn = undefined;
  }

  async #tell(updates: readonly Parameters<AgentSink['update']>[0][]): Promise<void> {
    for (const update of updates) await this.#sink.update(update);
  }

  /** Claude may change its mode by itself: the next turn has to know, to set it back. */
  #noteMode({ permissionMode: mode }: Message): void {
    if (typeof mode === 'string') this.#now.mode = mode;
  }

  /** A permission request becomes an approval where approvals are on; else it is declined, so no turn hangs. */
  async #answer(
    id: string,
    request: Record<string, unknown>,
    connection: Connection,
    tools: ToolsChannel,
  ): Promise<void> {
    const carried = request.subtype === 'mcp_message' ? tools.take(request) : null;
    if (carried) return connection.answer(id, await carried);
    const permission = request.subtype === 'can_use_tool' ? readPermission(request) : null;
    if (!permission) {
      this.#options.onUnknown();
      connection.refuse(id, `cadre knows no request ${String(request.subtype)}`);
      return;
    }
    const withdrawn = new AbortController();
    this.#asking.set(id, withdrawn);
    try {
      await this.#showCall(permission);
      const answer = await this.#decide(permission, withdrawn.signal);
      if (!withdrawn.signal.aborted) connection.answer(id, answer);
    } finally {
      this.#asking.delete(id);
    }
  }

  async #decide(permission: Permission, withdrawn: AbortSignal): Promise<object> {
    const { permissionMode: mode } = this.#settings;
    if (mode !== 'require_approval') return refusalOf(permission, mode);
    const request = approvalRequest(permission, this.#session.cwd);
    const answer = await this.#sink.ask(request, withdrawn);
    if (answer.decision === 'accept' && permission.ref !== null)
      await this.#tell([{ type: 'tool', ref: permission.ref, change: { status: 'running' } }]);
    return responseTo(answer, permission);
  }

  /** For a tool of a subagent this may be its first mention. */
  async #showCall({ ref, tool, input }: Permission): Promise<void> {
    if (ref === null) return;
    const change = { title: titleOf(tool, input), kind: kindOf(tool), input };
    await this.#tell([{ type: 'tool', ref, change: { ...change, status: 'pending' } }]);
  }
}

/** One that makes way for its successor is at no turn. */
const LEAVING_MS = 2000;

function isBeginning({ type, subtype }: Message): boolean {
  return type === 'system' && subtype === 'init';
}

async function contentOf(item: StoredInputItem): Promise<object> {
  if (item.type === 'text') return { type: 'text', text: item.text };
  const data = await imageData('claude', item);
  return { type: 'image', source: { type: 'base64', media_type: item.media_type, data } };
}
