import type { Model } from '../../api/providers.ts';
import type { Session } from '../../api/sessions.ts';
import { newUuid } from '../../core/lib/ids.ts';
import { imageData } from '../image-data.ts';
import type { Excess } from '../bounded-line.ts';
import { MessageBudget, tooLargeRequest } from '../budget.ts';
import { excessOf, Refusal, OpenRequests } from '../json-connection.ts';
import type { ForkPoint } from '../conversations.ts';
import {
  type Agent,
  type AgentSink,
  lostTurn,
  defaultSettings,
  ProviderError,
  report,
  type TurnOutcome,
  type TurnSettings,
} from '../provider.ts';
import type { Connection, Message } from './connection.ts';
import {
  acceptsEdits,
  type Grant,
  approvalRequest,
  type Permission,
  readPermission,
  refusalOf,
  responseTo,
} from './permission.ts';
import {
  argumentsOf,
  begin,
  type Beginning,
  type ClaudeOptions,
  startInitialized,
  type ClaudeProcess,
  serversFor,
  TOOL_SERVER,
  ToolsChannel,
} from './process.ts';
import { outcomeOf, textOf, readResultUsage } from './outcome.ts';
import { BYPASS, mayBypass, modeOf, objectionTo, readModel, readModes } from './settings.ts';
import { toolKindOf, toolTitleOf } from './tools.ts';
import { Reader } from './updates.ts';
import type { StoredInputItem } from '../../api/input.ts';
import { valueText } from '../../core/lib/value-text.ts';

/** The mode in which claude edits files in its directory without asking. */
const ACCEPT_EDITS = 'acceptEdits';
/** A process that makes way for its successor is at no turn, and has this long to end. */
const REPLACED_MS = 2000;

/** Starts an agent for one session, or resumes the session in a new one. Errors as in `Provider.open`. */
export async function openClaude(
  session: Session,
  sink: AgentSink,
  options: ClaudeOptions,
  fork: ForkPoint | null,
): Promise<Agent> {
  const agent = new ClaudeAgent(session.provider_session_ref ?? newUuid(), session, sink, options);
  await begin((beginning) => agent.start(beginning), { session, sink, fork });
  return agent;
}

/** `preparing` lasts until a turn's settings are applied and its prompt is sent. */
type State =
  | { is: 'idle' }
  | { is: 'preparing'; restart: Promise<void> | null }
  | { is: 'running'; outcome: PromiseWithResolvers<TurnOutcome> };

/** A process with the settings that claude has there. */
interface Current {
  readonly process: ClaudeProcess;
  readonly isForBypass: boolean;
  mode: string;
  /** Null: what the process began with. */
  model: string | null;
  effort: string | null;
}

/** One session, in one process at a time: a mode that claude has to be started for needs another process. */
class ClaudeAgent implements Agent {
  readonly ref: string;
  readonly defaults: TurnSettings = defaultSettings();
  readonly canResume = true;
  readonly #gone = Promise.withResolvers<string>();
  readonly gone = this.#gone.promise;
  readonly #session: Session;
  readonly #sink: AgentSink;
  readonly #options: ClaudeOptions;
  readonly #reader = new Reader();
  readonly #requests = new OpenRequests<string>();
  /** Aborts when the agent is ended, and with it the start of another process. */
  readonly #ending = new AbortController();
  #state: State = { is: 'idle' };
  /** Undefined while no process runs: before the first, and while another one takes over. */
  #current: Current | undefined;
  #models: readonly Model[] = [];
  /** How the next process begins: once claude has a transcript, it resumes that. */
  #beginning: Beginning = 'new';
  isForked: boolean | undefined;
  /** The mode in which claude asks people, where one of them has accepted edits for the session. */
  #askingMode: string | null = null;
  #settings: TurnSettings = this.defaults;
  /** Aborts when the newest prompt is cancelled. */
  #cancelling = new AbortController();
  #costSoFar: number | null = null;

  constructor(ref: string, session: Session, sink: AgentSink, options: ClaudeOptions) {
    this.ref = ref;
    this.#session = session;
    this.#sink = sink;
    this.#options = options;
  }

  get pid(): number | null {
    return this.#current?.process.pid ?? null;
  }

  async start(beginning: Beginning): Promise<void> {
    const wantsBypass = modeOf(this.#session.permission_mode) === BYPASS;
    this.#beginning = beginning;
    this.isForked = beginning === 'resume' ? undefined : beginning !== 'new';
    await this.#launch(wantsBypass && mayBypass(this.#options.env), this.#options);
  }

  objection(settings: TurnSettings): ProviderError | null {
    return objectionTo(settings, this.#models, this.#options.env, this.#options.modes());
  }

  async prompt(input: readonly StoredInputItem[], settings: TurnSettings): Promise<TurnOutcome> {
    const { signal } = (this.#cancelling = new AbortController());
    // Claude would take the prompt for a message in a turn that still runs: that one has to end first.
    if (this.#state.is === 'running') await this.#state.outcome.promise;
    const preparing: State = { is: 'preparing', restart: null };
    this.#state = preparing;
    try {
      this.#settings = settings;
      await this.#apply(settings);
      const content = await Promise.all(input.map(contentOf));
      if (signal.aborted) return { status: 'interrupted', error: null };
      return await this.#run(content);
    } finally {
      if (this.#state === preparing) this.#state = { is: 'idle' };
    }
  }

  /** False while another process takes over, because the agent continues in that process. */
  isLost(): boolean {
    return this.#current?.process.isLost() ?? false;
  }

  cancel(): void {
    this.#cancelling.abort();
    // The answer is ignored: the result of the turn says whether it was interrupted.
    this.#current?.process.connection.request('interrupt').catch(() => undefined);
  }

  async end(graceMs: number): Promise<void> {
    this.#ending.abort(new Error('the agent was stopped'));
    // The abort ends a process that is just being started.
    if (this.#state.is === 'preparing') await this.#state.restart?.catch(() => undefined);
    await this.#current?.process.end(graceMs, this.#state.is === 'running');
  }

  async #run(content: object[]): Promise<TurnOutcome> {
    const outcome = Promise.withResolvers<TurnOutcome>();
    const running: State = { is: 'running', outcome };
    this.#state = running;
    this.#reader.begin();
    this.#beginning = 'resume';
    this.#current?.process.connection.send({
      type: 'user',
      message: { role: 'user', content },
      parent_tool_use_id: null,
      session_id: '',
    });
    void lostTurn(this.gone).then(outcome.resolve);
    const ended = await outcome.promise;
    if (this.#state === running) this.#state = { is: 'idle' };
    return ended;
  }

  /** Gives claude what a turn wants, or what the session began with where the turn wants nothing. */
  async #apply({ permissionMode, model, thinkingEffort: effort }: TurnSettings): Promise<void> {
    const asks = permissionMode === 'require_approval';
    const mode = (asks ? this.#askingMode : null) ?? modeOf(permissionMode);
    if (mode === BYPASS && !this.#current?.isForBypass) await this.#restart();
    const current = this.#current;
    if (!current) return;
    if (mode !== current.mode) {
      await this.#set('invalid_permission_mode', 'set_permission_mode', { mode });
      current.mode = mode;
    }
    const wanted = model ?? this.defaults.model;
    if (wanted !== null && wanted !== (current.model ?? this.defaults.model)) {
      await this.#set('invalid_model', 'set_model', { model: wanted });
      current.model = wanted;
    }
    if (effort !== current.effort) {
      const settings = { effortLevel: effort };
      await this.#set('invalid_thinking_effort', 'apply_flag_settings', { settings });
      current.effort = effort;
    }
  }

  async #set(code: ProviderError['code'], subtype: string, wish: object): Promise<void> {
    try {
      await this.#current?.process.ask(subtype, wish);
    } catch (error) {
      const { cause, message } = error as Error;
      const modes = code === 'invalid_permission_mode' ? readModes(message) : null;
      if (modes) this.#options.onModes(modes);
      throw cause instanceof Refusal ? new ProviderError(code, message, { cause: error }) : error;
    }
  }

  async #restart(): Promise<void> {
    const restart = this.#replace();
    if (this.#state.is === 'preparing') this.#state.restart = restart;
    await restart;
  }

  async #replace(): Promise<void> {
    const before = this.#current;
    this.#current = undefined;
    this.#askingMode = null;
    await before?.process.end(REPLACED_MS, false);
    try {
      await this.#launch(true, { ...this.#options, signal: this.#ending.signal });
    } catch (error) {
      this.#gone.resolve('could not be restarted');
      throw error;
    }
  }

  async #launch(isForBypass: boolean, options: ClaudeOptions): Promise<void> {
    const which = argumentsOf(this.#beginning, this.ref);
    const mode = isForBypass ? ['--allow-dangerously-skip-permissions'] : [];
    const toolAccess = options.toolsFor(this.#session.id);
    const tools = new ToolsChannel(toolAccess);
    const claude: ClaudeProcess = await startInitialized(
      {
        cwd: this.#session.cwd,
        what: `claude of ${this.#session.id}`,
        // The tools of cadre decide themselves what they may do.
        args: [
          ...which,
          '--permission-mode=default',
          `--allowedTools=mcp__${TOOL_SERVER}`,
          ...mode,
        ],
        hello: { sdkMcpServers: [TOOL_SERVER] },
        servers: serversFor(toolAccess),
      },
      {
        onMessage: (message) => this.#take(message),
        onRequest: (id, request, connection) => void this.#answer(id, request, connection, tools),
        onWithdrawn: (id) => this.#requests.withdraw(id),
        onUnknown: options.onUnknown,
      },
      {
        ...options,
        onInitialized: (initialized) => {
          this.#models = initialized.models;
          void this.#sink.update({ type: 'commands', commands: initialized.commands });
          options.onInitialized(initialized);
        },
      },
    );
    this.#current = { process: claude, isForBypass, mode: 'default', model: null, effort: null };
    void claude.gone.then((how) => {
      tools.close();
      this.#lost(claude, how);
    });
    // A turn that wishes for no model goes back to this one.
    this.defaults.model = await claude.ask('get_settings').then(readModel, () => null);
  }

  #lost(claude: ClaudeProcess, how: string): void {
    if (this.#current?.process !== claude) return;
    this.#requests.withdrawAll();
    this.#gone.resolve(how);
  }

  #take(message: Message): Promise<void> | undefined {
    if (message.type === 'result') return this.#finish(message);
    // Claude has ignored an interrupt that came before the turn had begun.
    const isCancelled = this.#state.is === 'running' && this.#cancelling.signal.aborted;
    if (isCancelled && isBeginning(message)) this.cancel();
    if (message.type === 'system') this.#noteMode(message);
    const updates = this.#reader.read(message);
    if (updates !== 'unknown') return report(this.#sink, updates);
    this.#options.onUnknown();
    return undefined;
  }

  async #finish(message: Message): Promise<void> {
    const { login, onEnded } = this.#options;
    const outcome = onEnded(outcomeOf(message, login, this.#reader.rateLimit));
    const text = textOf(message);
    const isUnsaid = outcome.status === 'completed' && !this.#reader.hasSpoken && text;
    if (this.#state.is === 'running' && isUnsaid)
      await this.#sink.update({ type: 'message', text });
    const { usage, costSoFar } = readResultUsage(message, this.#costSoFar);
    if (!Number.isNaN(costSoFar)) this.#costSoFar = costSoFar ?? this.#costSoFar;
    if (this.#state.is !== 'running') return;
    const { lastMessage: ref } = this.#reader;
    this.#state.outcome.resolve({
      ...outcome,
      usage: { ...this.#reader.usage, ...usage },
      ...(ref === null ? {} : { ref }),
    });
    // A message that follows belongs to no turn, even before `prompt` has returned.
    this.#state = { is: 'idle' };
  }

  /** Claude may change its mode by itself: the next turn has to know, to set it back. */
  #noteMode({ permissionMode: mode }: Message): void {
    if (typeof mode === 'string' && this.#current) this.#current.mode = mode;
  }

  /** A permission request becomes an approval where approvals are on; else it is declined, so no turn hangs. */
  async #answer(
    id: string,
    request: Record<string, unknown>,
    connection: Connection,
    tools: ToolsChannel,
  ): Promise<void> {
    const carried = request.subtype === 'mcp_message' ? tools.answer(request) : null;
    if (carried) return connection.answer(id, await carried);
    const permission = request.subtype === 'can_use_tool' ? readPermission(request) : null;
    if (!permission) {
      this.#options.onUnknown();
      connection.refuse(id, `cadre does not support the request ${valueText(request.subtype)}`);
      return;
    }
    const excess = excessOf(request);
    const decide = (withdrawn: AbortSignal) =>
      excess ? this.#declineUnread(permission, excess) : this.#decide(permission, withdrawn);
    await this.#requests.answer(id, decide, (answer) => connection.answer(id, answer));
  }

  async #decide(permission: Permission, withdrawn: AbortSignal): Promise<object> {
    await this.#showCall(permission);
    const { permissionMode: mode } = this.#settings;
    if (mode !== 'require_approval') {
      await this.#sink.update({ type: 'declined_unasked' });
      return refusalOf(permission, mode);
    }
    const { sandbox } = this.#options;
    const request = await approvalRequest(permission, this.#session.cwd, sandbox?.fileOutside);
    const answer = await this.#sink.ask(request, withdrawn);
    if (answer.decision === 'accept' && answer.scope === 'session')
      this.#noteGrants(permission.grants);
    const { ref } = permission;
    if (answer.decision === 'accept' && ref !== null)
      await report(this.#sink, [{ type: 'tool', ref, change: { status: 'running' } }]);
    return responseTo(answer, permission);
  }

  /** Declines a request that is too large to be shown to anybody. */
  async #declineUnread(permission: Permission, excess: Excess): Promise<object> {
    const notice = tooLargeRequest(excess);
    await this.#sink.update({ type: 'notice', ...notice });
    return responseTo({ decision: 'decline', reason: notice.message }, permission);
  }

  /** Claude changes its mode with such a grant, and is given that mode again in turns that ask people. */
  #noteGrants(grants: readonly Grant[]): void {
    if (!this.#current || !acceptsEdits(grants)) return;
    this.#askingMode = ACCEPT_EDITS;
    this.#current.mode = ACCEPT_EDITS;
  }

  /** For a tool of a subagent this may be its first mention. */
  async #showCall({ ref, tool, input: whole }: Permission): Promise<void> {
    if (ref === null) return;
    const input = new MessageBudget().bounded(whole);
    const change = { title: toolTitleOf(tool, input), kind: toolKindOf(tool), input };
    await report(this.#sink, [{ type: 'tool', ref, change: { ...change, status: 'pending' } }]);
  }
}

function isBeginning({ type, subtype }: Message): boolean {
  return type === 'system' && subtype === 'init';
}

async function contentOf(item: StoredInputItem): Promise<object> {
  if (item.type === 'text') return { type: 'text', text: item.text };
  const data = await imageData('claude', item);
  return { type: 'image', source: { type: 'base64', media_type: item.media_type, data } };
}
