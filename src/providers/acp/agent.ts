import { z } from 'zod';
import type { Session, StoredInputItem } from '../../api/sessions.ts';
import type { Child, Supervisor } from '../../children/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import {
  type Agent,
  type AgentSink,
  type AgentTools,
  failed,
  ProviderError,
  type ToolChange,
  type TurnOutcome,
  type TurnSettings,
} from '../provider.ts';
import { answered, endOf, exitsWithin, tailOf } from '../agent-process.ts';
import { imageData } from '../image-data.ts';
import { type AcpConnection, agentError, connectAcp } from './connection.ts';
import {
  type Choice,
  choicesOf,
  objectionTo,
  type OpenedSession,
  openedSession,
  wantedOf,
} from './options.ts';
import {
  approvalRequest,
  mergeCalls,
  outcomeFor,
  readPermission,
  type ToldCall,
} from './permission.ts';
import type { AcpSettings } from './provider.ts';
import { readPromptUsage, readUpdate } from './updates.ts';

const PROTOCOL_VERSION = 1;
/** The protocol's error for an agent that nobody is logged in to. */
const AUTH_REQUIRED = -32_000;
/** How an agent says that it does not have a session: by these codes, or in its words. Anything else may pass. */
const GONE_CODES = new Set([-32_601, -32_602, -32_002, 404]);
const GONE_WORDS = /not found|unknown session|no such|does not exist|gone/i;
/** Some agents replay a history after they have said that it is loaded: it is over when they were silent so long. */
const HISTORY_PAUSE_MS = 250;
const MAX_HISTORY_MS = 10_000;
/** A list of sessions has at most so many pages. */
const MAX_LIST_PAGES = 100;
/** An agent whose turn has failed by what it asked for has this long to stop. */
const REFUSED_GRACE_MS = 10_000;
/** An agent whose connection is of no use any more has this long to go by itself. */
const LOST_GRACE_MS = 1000;

export interface AgentOptions {
  cwd: string;
  /** For the ledger and the log. */
  what: string;
  sink: AgentSink;
  signal: AbortSignal;
  settings: AcpSettings;
  supervisor: Supervisor;
  clock: Clock;
  environment: Record<string, string>;
  /** The tools that it is given with its session; null: none. */
  tools: AgentTools | null;
  onUnknown: () => void;
  /** Told what the agent says of itself. */
  onVersion: (version: string) => void;
  /** Has an agent come up, and notes whether it did. */
  starting: <T>(start: () => Promise<T>) => Promise<T>;
}

/** Starts an agent for one session, or resumes the session in a new one. Errors as in `Provider.open`. */
export async function openAcpAgent(session: Session, options: AgentOptions): Promise<Agent> {
  return startAgent(options, async (agent) => {
    const { provider_session_ref: ref, provider_defaults: began } = session;
    const defaults = began && {
      permissionMode: began.permission_mode,
      model: began.model,
      thinkingEffort: began.thinking_effort,
    };
    await (ref === null ? agent.create() : agent.resume(ref, defaults));
    return agent;
  });
}

/** The sessions that an agent, started for that alone, says it has; null where it has no list. */
export function listSessions(options: AgentOptions): Promise<ReadonlySet<string> | null> {
  return askAgent(options, (agent) => agent.list());
}

/** Whether an agent, started for that alone, can give a session back. */
export function hasSession(ref: string, options: AgentOptions): Promise<boolean> {
  return askAgent(options, (agent) =>
    agent.resume(ref, null).then(
      () => true,
      (error: unknown) => {
        if (error instanceof ProviderError && error.code === 'resume_failed') return false;
        throw error;
      },
    ),
  );
}

async function askAgent<T>(
  options: AgentOptions,
  question: (agent: AcpAgent) => Promise<T>,
): Promise<T> {
  return startAgent(options, async (agent) => {
    try {
      return await question(agent);
    } finally {
      await agent.end(0);
    }
  });
}

/** Starts and initializes an agent, and ends it again if `use` fails or the signal aborts meanwhile. */
async function startAgent<T>(
  options: AgentOptions,
  use: (agent: AcpAgent) => Promise<T>,
): Promise<T> {
  let agent: AcpAgent | undefined;
  const abort = () => void agent?.end(0);
  options.signal.addEventListener('abort', abort);
  try {
    const started = new AcpAgent(await startChild(options), options);
    agent = started;
    options.signal.throwIfAborted();
    await options.starting(() => started.initialize());
    return await use(started);
  } catch (error) {
    await agent?.end(0);
    throw error;
  } finally {
    options.signal.removeEventListener('abort', abort);
  }
}

async function startChild({
  supervisor,
  settings,
  cwd,
  environment,
  what,
}: AgentOptions): Promise<Child> {
  const { command, args } = settings;
  try {
    return await supervisor.start({ command: command ?? '', args, cwd, env: environment, what });
  } catch (error) {
    throw new ProviderError(
      'provider_unavailable',
      `acp: the agent could not be started in ${cwd}`,
      { cause: error },
    );
  }
}

const initialized = z.looseObject({
  protocolVersion: z.number(),
  agentInfo: z.looseObject({ name: z.string(), version: z.string() }).nullish().catch(null),
  agentCapabilities: z
    .looseObject({
      loadSession: z.boolean().nullish().catch(null),
      promptCapabilities: z.looseObject({ image: z.unknown().optional() }).nullish().catch(null),
      sessionCapabilities: z
        .looseObject({ resume: z.unknown().optional(), list: z.unknown().optional() })
        .nullish()
        .catch(null),
    })
    .nullish()
    .catch(null),
});

/** The turn an agent is at. */
interface RunningTurn {
  /** Why it has to fail, whatever the agent says of it. */
  refused?: TurnOutcome;
  /** Ends an agent that goes on after that. */
  limit?: Disposable;
}

class AcpAgent implements Agent {
  ref = '';
  defaults: TurnSettings = { permissionMode: null, model: null, thinkingEffort: null };
  readonly pid: number;
  readonly gone: Promise<string>;
  readonly #child: Child;
  readonly #connection: AcpConnection;
  readonly #options: AgentOptions;
  #can = { load: false, resume: false, list: false, image: false };
  #choices: Choice[] = [];
  /** What was last asked for of each choice; what was not asked for is as the session began. */
  readonly #chosen = new Map<Choice, string>();
  /** What was told of the tool calls of this turn that have not ended. */
  readonly #calls = new Map<string, ToldCall>();
  #asksUs = false;
  #cancelled = false;
  /** Set while nothing it says is of a turn: it replays the history of a session, or confirms its settings. */
  #isDeaf = false;
  #lastHeardAt = 0;
  #turn: RunningTurn | undefined;

  constructor(child: Child, options: AgentOptions) {
    this.#child = child;
    this.#options = options;
    this.pid = child.pid;
    this.#connection = connectAcp(child, {
      onUpdate: (params) => this.#update(params),
      onPermission: (params, withdrawn) => this.#permission(params, withdrawn),
      onUnknown: options.onUnknown,
    });
    const { heard, strays } = this.#connection;
    const stderr = tailOf(child.stderr);
    this.gone = endOf(child, {
      heard,
      stderr: () => stderr() || strays.last,
      clock: options.clock,
    });
  }

  async initialize(): Promise<void> {
    const answer = await this.#ask('initialize', {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: 'cadre', version: '1' },
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    });
    const { data } = initialized.safeParse(answer);
    if (data?.protocolVersion !== PROTOCOL_VERSION) {
      const theirs = data?.protocolVersion ?? 'none we know';
      throw new ProviderError(
        'provider_unavailable',
        `acp: the agent speaks protocol version ${theirs}, cadre speaks ${PROTOCOL_VERSION}: use another version of it`,
      );
    }
    if (data.agentInfo) this.#options.onVersion(`${data.agentInfo.name} ${data.agentInfo.version}`);
    const { loadSession, promptCapabilities, sessionCapabilities } = data.agentCapabilities ?? {};
    this.#can = {
      load: loadSession === true,
      resume: Boolean(sessionCapabilities?.resume),
      list: Boolean(sessionCapabilities?.list),
      image: promptCapabilities?.image === true,
    };
  }

  get canResume(): boolean {
    return this.#can.resume || this.#can.load;
  }

  async create(): Promise<void> {
    const opened = openedOr(await this.#ask('session/new', this.#place(this.#options.cwd)), null);
    if (!opened?.sessionId) {
      throw new ProviderError(
        'provider_unavailable',
        'acp: the agent opened a session without an id',
      );
    }
    this.ref = opened.sessionId;
    this.#choices = choicesOf(opened);
    for (const { name, current } of this.#choices) this.defaults[name] = current;
  }

  /** `defaults`: what the session began with; what its last agent left it with may be a wish of one turn. */
  async resume(ref: string, defaults: TurnSettings | null): Promise<void> {
    if (!this.canResume) {
      throw new ProviderError(
        'resume_failed',
        'acp: this agent cannot resume sessions: open a new one',
      );
    }
    try {
      this.#choices = choicesOf(await this.#reopen(ref));
      this.ref = ref;
    } catch (error) {
      const said = agentError((error as Error).cause);
      if (!said || !(GONE_CODES.has(said.code) || GONE_WORDS.test(said.message))) throw error;
      throw new ProviderError(
        'resume_failed',
        `acp: the agent cannot resume the session: ${said.message}`,
        { cause: error },
      );
    }
    for (const choice of this.#choices) {
      const began = defaults?.[choice.name] ?? null;
      this.defaults[choice.name] = began ?? choice.current;
      if (began === null || began === choice.current || !choice.known.includes(began)) continue;
      if (choice.current !== null) this.#chosen.set(choice, choice.current);
      choice.current = began;
    }
  }

  async list(): Promise<ReadonlySet<string> | null> {
    if (!this.#can.list || !this.canResume) return null;
    const page = z.looseObject({
      sessions: z.array(z.looseObject({ sessionId: z.string() })),
      nextCursor: z.string().nullish(),
    });
    const found = new Set<string>();
    let cursor: string | null | undefined;
    for (let pages = 0; pages < MAX_LIST_PAGES; pages++) {
      const answer = page.safeParse(await this.#ask('session/list', cursor ? { cursor } : {}));
      if (!answer.success) return null;
      for (const { sessionId } of answer.data.sessions) found.add(sessionId);
      const before = cursor;
      cursor = answer.data.nextCursor;
      if (!cursor || cursor === before) return found;
    }
    return found;
  }

  objection(settings: TurnSettings): ProviderError | null {
    return objectionTo(settings, this.#choices);
  }

  async prompt(input: readonly StoredInputItem[], settings: TurnSettings): Promise<TurnOutcome> {
    this.#cancelled = false;
    this.#calls.clear();
    this.#asksUs = settings.permissionMode === 'require_approval';
    await this.#apply(settings);
    const prompt = await Promise.all(input.map((item) => this.#contentOf(item)));
    // Agents forget a cancel that comes before what it is about.
    if (this.#cancelled) return { status: 'interrupted', error: null };
    const turn: RunningTurn = {};
    this.#turn = turn;
    try {
      const answer = await this.#connection.request('session/prompt', {
        sessionId: this.ref,
        prompt,
      });
      return turn.refused ?? outcomeOf(answer);
    } catch (error) {
      if (turn.refused) return turn.refused;
      const said = agentError(error);
      if (said) return failed('provider_error', `the agent failed: ${said.message}`);
      return failed('provider_exited', await this.#describeLoss());
    } finally {
      turn.limit?.[Symbol.dispose]();
      this.#turn = undefined;
    }
  }

  cancel(): void {
    this.#cancelled = true;
    this.#connection.notify('session/cancel', { sessionId: this.ref });
  }

  async end(graceMs: number): Promise<void> {
    this.#child.stdin.end();
    await this.#child.end(graceMs);
    this.#connection.close();
  }

  /** What a turn wants, or what the session began with where it wants nothing. */
  async #apply(settings: TurnSettings): Promise<void> {
    for (const choice of this.#choices) {
      const wanted = wantedOf(settings, choice) ?? choice.current;
      if (wanted === null || wanted === (this.#chosen.get(choice) ?? choice.current)) continue;
      const { method, params } = choice.request(wanted);
      this.#isDeaf = true;
      try {
        await this.#ask(method, { sessionId: this.ref, ...params });
      } catch (error) {
        if (!agentError((error as Error).cause)) throw error;
        throw new ProviderError(choice.code, (error as Error).message, { cause: error });
      } finally {
        this.#isDeaf = false;
      }
      this.#chosen.set(choice, wanted);
    }
  }

  async #contentOf(item: StoredInputItem): Promise<object> {
    if (item.type === 'text') return { type: 'text', text: item.text };
    if (!this.#can.image)
      throw new ProviderError('unsupported_images', 'acp: this agent takes no images');
    const data = await imageData('acp', item);
    return { type: 'image', data, mimeType: item.media_type };
  }

  async #reopen(ref: string): Promise<OpenedSession> {
    const params = { sessionId: ref, ...this.#place(this.#options.cwd) };
    this.#isDeaf = true;
    try {
      if (!this.#can.resume) return await this.#load(params);
      try {
        return openedOr(await this.#ask('session/resume', params), {});
      } catch (error) {
        // Some can do one of the two only, whatever they say.
        const said = agentError((error as Error).cause);
        if (!this.#can.load || !said || said.code === AUTH_REQUIRED) throw error;
        return await this.#load(params);
      }
    } finally {
      this.#isDeaf = false;
    }
  }

  async #load(params: object): Promise<OpenedSession> {
    const opened = openedOr(await this.#ask('session/load', params), {});
    const { clock } = this.#options;
    const began = clock.monotonic();
    this.#lastHeardAt = began;
    for (let now = began; now < began + MAX_HISTORY_MS; now = clock.monotonic()) {
      const rest = this.#lastHeardAt + HISTORY_PAUSE_MS - now;
      if (rest <= 0) break;
      await clock.sleep(rest);
    }
    return opened;
  }

  #place(cwd: string): object {
    const { tools } = this.#options;
    if (!tools) return { cwd, mcpServers: [] };
    const { env, ...start } = tools.sidecar;
    const variables = Object.entries(env).map(([name, value]) => ({ name, value }));
    return { cwd, mcpServers: [{ name: 'cadre', ...start, env: variables }] };
  }

  /** Anything but a prompt is answered soon; what fails here keeps the agent's own error as its cause. */
  async #ask(method: string, params: object): Promise<unknown> {
    const { clock, settings } = this.#options;
    const limits = { ms: settings.requestTimeoutMs, clock, gone: this.gone };
    const answer = this.#connection.request(method, params).catch(async (error: unknown) => {
      throw agentError(error) ? error : new Error(await this.#describeLoss(), { cause: error });
    });
    try {
      return await answered(answer, limits);
    } catch (error) {
      const said = agentError(error)?.message ?? (error as Error).message;
      throw new ProviderError(
        'provider_unavailable',
        `acp: the agent failed at ${method}: ${said}`,
        { cause: error },
      );
    }
  }

  #update(params: unknown): Promise<void> | undefined {
    this.#lastHeardAt = this.#options.clock.monotonic();
    if (this.#isDeaf) return undefined;
    const raw = (params as { update?: unknown } | undefined)?.update;
    this.#noteMode(raw);
    const update = readUpdate(raw);
    if (update === 'unknown') this.#options.onUnknown();
    if (typeof update === 'string') return undefined;
    if (update.type === 'tool') this.#noteCall(update.ref, raw as ToldCall, update.change.status);
    return this.#options.sink.update(update);
  }

  /** What was told of a call that has ended says nothing of another one under its name. */
  #noteCall(ref: string, told: ToldCall, status: ToolChange['status']): void {
    if (status === 'completed' || status === 'failed') this.#calls.delete(ref);
    else this.#calls.set(ref, mergeCalls(this.#calls.get(ref) ?? {}, told));
  }

  /** An agent may change its mode by itself: the next turn has to know, to set it back. */
  #noteMode(raw: unknown): void {
    const mode = modeUpdate.safeParse(raw).data?.currentModeId;
    const choice = this.#choices.find(({ name }) => name === 'permissionMode');
    if (mode !== undefined && choice) this.#chosen.set(choice, mode);
  }

  /** A permission request becomes an approval where approvals are on; else, by the interface, it fails the turn. */
  async #permission(params: unknown, withdrawn: AbortSignal): Promise<unknown> {
    if (this.#isDeaf) return { outcome: 'cancelled' };
    const permission = readPermission(params);
    const { tool, options } = permission;
    // For some agents this is the first mention of the tool.
    if (tool) await this.#options.sink.update({ type: 'tool', ref: tool.ref, change: tool.change });
    const request = approvalRequest(permission, tool ? this.#calls.get(tool.ref) : undefined);
    if (!this.#asksUs) {
      return this.#refuse(
        'permission_required',
        `the agent asked for permission: ${request.title}; send the turn with permission_mode "require_approval", ` +
          "or allow it in the agent's own configuration",
      );
    }
    const answer = await this.#options.sink.ask(request, withdrawn);
    const outcome = outcomeFor(answer, options);
    if (outcome) {
      // Some agents say nothing more of a tool that was refused.
      if (tool && answer.decision === 'decline') {
        await this.#options.sink.update({
          type: 'tool',
          ref: tool.ref,
          change: { status: 'failed' },
        });
      }
      return outcome;
    }
    return this.#refuse(
      'provider_error',
      `the agent offers no way to allow this once: ${request.title}`,
    );
  }

  /** Fails the running turn: the agent is told to stop, and ended if it does not. */
  #refuse(code: string, message: string): object {
    if (this.#turn && !this.#turn.refused) {
      this.#turn.refused = failed(code, message);
      this.#turn.limit = this.#options.clock.after(REFUSED_GRACE_MS, () => void this.#child.end(0));
      this.cancel();
    }
    return { outcome: 'cancelled' };
  }

  /** Why the connection ended. An agent that lives on without one is of no use: it is ended. */
  async #describeLoss(): Promise<string> {
    if (!(await exitsWithin(this.#child, LOST_GRACE_MS, this.#options.clock)))
      await this.#child.end(0);
    return `the agent ${await this.gone}`;
  }
}

/** What the agent says of a session that it opened; `otherwise` for what is not that. */
function openedOr<T>(answer: unknown, otherwise: T): OpenedSession | T {
  return openedSession.safeParse(answer).data ?? otherwise;
}

const modeUpdate = z.looseObject({
  sessionUpdate: z.literal('current_mode_update'),
  currentModeId: z.string(),
});

const promptAnswer = z.looseObject({ stopReason: z.string(), usage: z.unknown().optional() });

function outcomeOf(answer: unknown): TurnOutcome {
  const { data } = promptAnswer.safeParse(answer);
  const usage = readPromptUsage(data?.usage);
  const used = usage ? { usage } : {};
  switch (data?.stopReason) {
    case 'cancelled':
      return { status: 'interrupted', error: null, ...used };
    case 'refusal':
      return { ...failed('refused', 'the agent refused to go on'), ...used };
    case 'max_tokens':
    case 'max_turn_requests':
      return {
        ...failed('limit_reached', `the agent stopped at a limit of its own (${data.stopReason})`),
        ...used,
      };
    case undefined:
      return failed('provider_error', 'the agent ended the turn without saying how');
    default:
      return { status: 'completed', error: null, ...used };
  }
}
