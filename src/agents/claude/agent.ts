import type { Session } from '../../api/sessions.ts';
import type { Child } from '../../core/children/supervisor.ts';
import { filesOutside } from '../../core/children/sandbox/files.ts';
import { newUuid } from '../../core/lib/ids.ts';
import type { AttachedTurn } from '../attached-turn.ts';
import { Refusal } from '../json-connection.ts';
import { type AskedRequest, type OutputLine, OutputLines } from '../output-lines.ts';
import {
  type Agent,
  type AgentSink,
  type AgentTools,
  lostTurn,
  defaultSettings,
  ProviderError,
  report,
  type TurnOutcome,
  type TurnSettings,
  unavailable,
} from '../provider.ts';
import type { ReadPosition } from '../read-position.ts';
import { contentOf, type Message } from './connection.ts';
import { acceptsEdits, type Grant, PermissionRequests, readPermission } from './permission.ts';
import {
  argumentsOf,
  type Beginning,
  type ClaudeOptions,
  startInitialized,
  ClaudeProcess,
  startOf,
  ToolsChannel,
} from './process.ts';
import { outcomeOf, textOf, readResultUsage } from './outcome.ts';
import {
  AppliedSettings,
  BYPASS,
  type Initialized,
  mayBypass,
  modeOf,
  objectionTo,
  readModel,
} from './settings.ts';
import { isBeginning, Reader } from './updates.ts';
import type { StoredInputItem } from '../../api/input.ts';
import { valueText } from '../../core/lib/value-text.ts';

/** The mode in which claude edits files in its directory without asking. */
const ACCEPT_EDITS = 'acceptEdits';
/** A process that makes way for its successor is at no turn, and has this long to end. */
const REPLACED_MS = 2000;

/** `preparing` lasts until a turn's settings are applied and its prompt is sent. */
type State =
  | { is: 'idle' }
  | { is: 'preparing'; restart: Promise<void> | null }
  | { is: 'running'; outcome: PromiseWithResolvers<TurnOutcome> };

interface Current {
  readonly process: ClaudeProcess;
  readonly tools: ToolsChannel;
  /** The settings that claude has in the process. */
  readonly settings: AppliedSettings;
}

export interface AgentOptions extends ClaudeOptions {
  session: Session;
  sink: AgentSink;
}

/** The version of the saved memory. Another version of cadre cannot continue from it. */
const VERSION = 1;

/** One session, in one process at a time: a mode that claude has to be started for needs another process. */
export class ClaudeAgent implements Agent {
  ref: string;
  readonly defaults: TurnSettings = defaultSettings();
  readonly canResume = true;
  readonly #gone = Promise.withResolvers<string>();
  readonly gone = this.#gone.promise;
  readonly #options: AgentOptions;
  readonly #reader = new Reader();
  readonly #permissions: PermissionRequests;
  /** Aborts when the agent is ended, and with it the start of another process. */
  readonly #ending = new AbortController();
  #state: State = { is: 'idle' };
  /** Undefined while no process runs: before the first, and while another one takes over. */
  #current: Current | undefined;
  /** The lines of the newest process. */
  #lines: OutputLines;
  #initialized: Pick<Initialized, 'version' | 'models'> = { version: null, models: [] };
  /** How the next process begins: once claude has a transcript, it resumes that. */
  #beginning: Beginning = 'new';
  isForked: boolean | undefined;
  /**
   * The mode in which claude asks people, if one of them has accepted edits for the session. It is saved by reference:
   * a decision comes between two lines, so another server does not read it again.
   */
  #granted = { mode: null as string | null };
  #settings: TurnSettings = this.defaults;
  /** Aborts when the newest prompt is cancelled. */
  #cancelling = new AbortController();
  #costSoFar: number | null = null;

  /**
   * `child`: a process that an earlier server has initialized; null: {@link start} starts one. `from`: how far that
   * server has handled the output of the child.
   */
  constructor(child: Child | null, options: AgentOptions, from: ReadPosition | null = null) {
    const { session, sink } = options;
    const sandbox = child?.sandbox ?? options.sandbox?.kept;
    this.#options = options;
    this.ref = session.provider_session_ref ?? newUuid();
    this.#lines = this.#linesFrom(child, from);
    this.#permissions = new PermissionRequests({
      sink,
      cwd: session.cwd,
      fileOutside: sandbox && filesOutside(sandbox.mounts),
      permissionMode: () => this.#settings.permissionMode,
      onGranted: (grants) => this.#noteGrants(grants),
      isCancelled: () => this.#cancelling.signal.aborted,
    });
    if (!child) return;
    const tools = options.toolsFor(session.id);
    tools.decline();
    this.#use(this.#connect(child, tools, from));
  }

  get pid(): number | null {
    return this.#current?.process.pid ?? null;
  }

  get output(): OutputLines | null {
    return this.#lines.outlives ? this.#lines : null;
  }

  async start(beginning: Beginning): Promise<void> {
    const wantsBypass = modeOf(this.#options.session.permission_mode) === BYPASS;
    this.#beginning = beginning;
    this.isForked = beginning === 'resume' ? undefined : beginning !== 'new';
    await this.#launch(wantsBypass && mayBypass(this.#options.env), this.#options);
  }

  /** Continues the turn of a session that an earlier server has prompted. Throws {@link ProviderError} at once. */
  attach(ref: string, state: string, turn: AttachedTurn): Promise<TurnOutcome> {
    this.#restore(state);
    this.ref = ref;
    this.#beginning = 'resume';
    this.#settings = turn.settings;
    const ended = this.#untilEnded();
    if (turn.isInterrupted) this.cancel();
    this.#current?.process.connection.resume(turn, (request, withdrawn) =>
      this.#permissions.askAgain(request, withdrawn),
    );
    return ended;
  }

  objection(settings: TurnSettings): ProviderError | null {
    return objectionTo(
      settings,
      this.#initialized.models,
      this.#options.env,
      this.#options.modes(),
    );
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

  #run(content: object[]): Promise<TurnOutcome> {
    this.#reader.begin();
    this.#beginning = 'resume';
    this.#lines.beginTurn();
    const ended = this.#untilEnded();
    this.#current?.process.connection.prompt(content);
    return ended;
  }

  async #untilEnded(): Promise<TurnOutcome> {
    const outcome = Promise.withResolvers<TurnOutcome>();
    const running: State = { is: 'running', outcome };
    this.#state = running;
    void lostTurn(this.gone).then(outcome.resolve);
    const ended = await outcome.promise;
    if (this.#state === running) this.#state = { is: 'idle' };
    return ended;
  }

  /** Returns the memory for another server. Null unless claude works on a prompt, and on nothing else. */
  save() {
    const current = this.#current;
    if (this.#state.is !== 'running' || !current) return null;
    return {
      version: VERSION,
      settings: current.settings.save(),
      modelOfProcess: this.defaults.model,
      initialized: this.#initialized,
      granted: this.#granted,
      costSoFar: this.#costSoFar,
      reader: this.#reader.save(),
    };
  }

  #restore(state: string): void {
    const saved = JSON.parse(state) as NonNullable<ReturnType<ClaudeAgent['save']>>;
    if (saved.version !== VERSION)
      throw unavailable('claude: another version of cadre has saved the state of the agent');
    this.#current?.settings.restore(saved.settings);
    this.defaults.model = saved.modelOfProcess;
    this.#noteInitialized(saved.initialized);
    this.#granted = saved.granted;
    this.#costSoFar = saved.costSoFar;
    this.#reader.restore(saved.reader);
  }

  /** Gives claude what a turn wants, or what the session began with where the turn wants nothing. */
  async #apply({ permissionMode, model, thinkingEffort }: TurnSettings): Promise<void> {
    const asks = permissionMode === 'require_approval';
    const mode = (asks ? this.#granted.mode : null) ?? modeOf(permissionMode);
    if (mode === BYPASS && !this.#current?.settings.isForBypass) await this.#restart();
    await this.#current?.settings.apply({ mode, model, thinkingEffort }, this.defaults.model);
  }

  async #restart(): Promise<void> {
    const restart = this.#replace();
    if (this.#state.is === 'preparing') this.#state.restart = restart;
    await restart;
  }

  async #replace(): Promise<void> {
    const before = this.#current;
    this.#current = undefined;
    this.#granted = { mode: null };
    await before?.process.end(REPLACED_MS, false);
    try {
      const program = await this.#options.program();
      await this.#launch(true, { ...this.#options, ...program, signal: this.#ending.signal });
    } catch (error) {
      this.#gone.resolve('could not be restarted');
      throw error;
    }
  }

  async #launch(isForBypass: boolean, options: ClaudeOptions): Promise<void> {
    const { session, sink } = this.#options;
    const tools = options.toolsFor(session.id);
    const start = startOf(session, argumentsOf(this.#beginning, this.ref), { isForBypass, tools });
    let connected: Current | undefined;
    const onInitialized = (initialized: Initialized) => {
      void sink.update({ type: 'commands', commands: initialized.commands });
      this.#noteInitialized(initialized);
    };
    const connect = (child: Child) => {
      this.#lines = this.#linesFrom(child, null);
      connected = this.#connect(child, tools, null);
      return connected.process;
    };
    const process = await startInitialized(start, connect, { ...options, onInitialized });
    if (!connected) return;
    connected.settings.begun(isForBypass);
    this.#use(connected);
    // A turn that requests no model goes back to this one.
    this.defaults.model = await process.ask('get_settings').then(readModel, () => null);
  }

  #noteInitialized({ version, models }: Pick<Initialized, 'version' | 'models'>): void {
    this.#initialized = { version, models };
    this.#options.onInitialized(this.#initialized);
  }

  #linesFrom(child: Child | null, from: ReadPosition | null): OutputLines {
    const { sink } = this.#options;
    return new OutputLines({ sink, child, save: () => this.save() }, from);
  }

  #connect(child: Child, toolAccess: AgentTools, from: ReadPosition | null): Current {
    const { clock, onUnknown, onModes } = this.#options;
    // Another server that reads the call again does not repeat it.
    const lines = this.#lines;
    const tools = new ToolsChannel(toolAccess, () => lines.savePosition());
    const handlers = {
      lines,
      onMessage: (message: Message, line: OutputLine) => this.#take(message, line),
      onRequest: (request: Record<string, unknown>, asked: AskedRequest) =>
        this.#answer(request, asked, tools),
      onUnknown,
    };
    const process = new ClaudeProcess(child, clock, handlers, from?.at);
    const settings = new AppliedSettings(
      (subtype, request) => process.ask(subtype, request),
      onModes,
    );
    return { process, tools, settings };
  }

  #use(current: Current): void {
    this.#current = current;
    const { process, tools } = current;
    void process.gone.then((how) => {
      tools.close();
      if (this.#current !== current) return;
      process.connection.withdrawAll();
      this.#gone.resolve(how);
    });
  }

  #take(message: Message, line: OutputLine): Promise<void> | undefined {
    if (message.type === 'result') return this.#finish(message, line);
    // Claude has ignored an interrupt that came before the turn had begun.
    const isCancelled = this.#state.is === 'running' && this.#cancelling.signal.aborted;
    if (isCancelled && isBeginning(message)) this.cancel();
    if (message.type === 'system') this.#noteMode(message);
    const updates = this.#reader.read(message);
    if (updates !== 'unknown') return report(line, updates);
    this.#options.onUnknown();
    return undefined;
  }

  async #finish(message: Message, line: OutputLine): Promise<void> {
    const { login, onEnded } = this.#options;
    // Another server reads the line again until the end of the turn is stored: the next turn ends the hold.
    if (this.#state.is === 'running') line.hold();
    const outcome = onEnded(outcomeOf(message, login, this.#reader.rateLimit));
    const text = textOf(message);
    const isUnsaid = outcome.status === 'completed' && !this.#reader.hasSpoken && text;
    if (this.#state.is === 'running' && isUnsaid) await line.update({ type: 'message', text });
    const { usage, costSoFar } = readResultUsage(message, this.#costSoFar);
    this.#costSoFar = costSoFar;
    if (this.#state.is !== 'running') return;
    const { lastMessage: ref, usage: used } = this.#reader;
    const ended = { ...outcome, usage: { ...used, ...usage } };
    this.#state.outcome.resolve(ref === null ? ended : { ...ended, ref });
    // A message that follows belongs to no turn, even before `prompt` has returned.
    this.#state = { is: 'idle' };
  }

  /** Claude may change its mode by itself: the next turn has to know, to set it back. */
  #noteMode({ permissionMode: mode }: Message): void {
    if (typeof mode === 'string' && this.#current) this.#current.settings.mode = mode;
  }

  async #answer(
    request: Record<string, unknown>,
    asked: AskedRequest,
    tools: ToolsChannel,
  ): Promise<object> {
    const { subtype } = request;
    const carried = subtype === 'mcp_message' ? tools.answer(request, asked.line.isAgain) : null;
    if (carried) return carried;
    const permission = subtype === 'can_use_tool' ? readPermission(request) : null;
    if (permission) return this.#permissions.ask(permission, asked);
    this.#options.onUnknown();
    throw new Refusal(`cadre does not support the request ${valueText(subtype)}`);
  }

  /** Claude changes its mode with such a grant, and is given that mode again in turns that ask people. */
  #noteGrants(grants: readonly Grant[]): void {
    if (!this.#current || !acceptsEdits(grants)) return;
    this.#granted.mode = ACCEPT_EDITS;
    this.#current.settings.mode = ACCEPT_EDITS;
  }
}
