import { filledFields } from '../../core/lib/filled-fields.ts';
import { fieldOf } from '../lenient.ts';
import type { LoginPage } from '../../api/agent-logins.ts';
import type { Usage } from '../../api/sessions.ts';
import type { Child } from '../../core/children/supervisor.ts';
import {
  type Agent,
  type AgentSink,
  type AgentTools,
  defaultSettings,
  failed,
  ProviderError,
  type TurnOutcome,
  type TurnSettings,
  unavailable,
} from '../provider.ts';
import { applySettings, Choices } from './choices.ts';
import { contentOf } from './blocks.ts';
import { Elicitations } from './elicitation.ts';
import { PermissionPromptMonitor, type Notice } from './permission-prompt-monitor.ts';
import { DeferredOptions } from './deferred-options.ts';
import { outcomeOf, outcomeOfError } from './outcome.ts';
import {
  type ChoiceName,
  nothingOffered,
  type Offer,
  openedIn,
  readChoiceUpdate,
} from './options.ts';
import {
  type MemoryParts,
  readSavedAgent,
  restoreParts,
  type SavedAgent,
  saveParts,
} from './agent-memory.ts';
import { mcpServersOf } from './cadre-tools.ts';
import { PermissionRequests } from './permission-requests.ts';
import { AcpProcess, type StartOptions } from './process.ts';
import type { Preparing, Running, State } from './agent-state.ts';
import { type OnReplay, reopen, untilSilent } from './reopen.ts';
import { UpdateForwarder, otherSession } from './update-forwarder.ts';
import type { AttachedRequest, AttachedTurn } from '../attached-turn.ts';
import { type AskedRequest, type OutputLine, OutputLines } from '../output-lines.ts';
import type { ReadPosition } from '../read-position.ts';
import { UsageMeter } from './usage.ts';
import type { StoredInputItem } from '../../api/input.ts';

/** An agent whose turn has failed because it asked for a permission has this long to stop. */
const REFUSED_GRACE_MS = 10_000;

export interface AgentOptions extends StartOptions {
  sink: AgentSink;
  /** The tools that it is given with its session; null: none. */
  tools: AgentTools | null;
  /** Usage of the earlier turns of the session. Null if there were none. */
  usedBefore: Usage | null;
  /** Takes a page that a person is to open, outside of any turn: a login shows it. */
  onPage?: (page: LoginPage) => void;
}

/** One session, in one process. */
export class AcpAgent implements Agent {
  /** Empty until the session is open. */
  ref = '';
  isForked: boolean | undefined;
  readonly process: AcpProcess;
  readonly pid: number;
  readonly gone: Promise<string>;
  readonly output: OutputLines | null;
  readonly isLost = () => this.process.isLost();
  readonly #options: AgentOptions;
  #state: State = { is: 'idle' };
  #onReplay: OnReplay | undefined;
  #choices = new Choices(nothingOffered, null, {}, () => undefined);
  readonly #promptMonitor: PermissionPromptMonitor;
  readonly #reports: UpdateForwarder;
  readonly #deferred: DeferredOptions;
  readonly #meter: UsageMeter;
  readonly #elicitations: Elicitations;
  readonly #permissions: PermissionRequests;
  readonly #lines: OutputLines;
  #settings: TurnSettings = defaultSettings();

  /** `from`: how far an earlier server has handled the output of the child. */
  constructor(child: Child, options: AgentOptions, from: ReadPosition | null = null) {
    this.#options = options;
    this.#lines = new OutputLines({ ...options, child, save: () => this.#save() }, from);
    this.output = this.#lines.outlives ? this.#lines : null;
    const hasQuirk = (id: string) => Object.hasOwn(options.agent.quirks, id);
    this.#meter = new UsageMeter({
      isCumulative: () => hasQuirk('cumulative_usage'),
      isCostOfProcess: () => hasQuirk('cost_of_process'),
      before: options.usedBefore,
    });
    this.#elicitations = new Elicitations({
      sink: options.sink,
      isAsking: () =>
        this.#state.is === 'running' && this.#settings.permissionMode === 'require_approval',
      isCancelled: () => this.#state.is === 'running' && this.#state.isCancelled,
      callOf: (ref) => this.#reports.calls.of(ref),
      onPage: options.onPage,
    });
    this.#promptMonitor = new PermissionPromptMonitor(() => this.asks);
    this.#permissions = new PermissionRequests({
      ...options,
      ref: () => this.ref,
      calls: () => this.#reports.calls,
      ignoresMessages: () => this.#ignoresMessages,
      permissionMode: () => this.#settings.permissionMode,
      onAsked: () => this.#promptMonitor.noteAsked(),
      refuse: (code, message) => this.#refuse(code, message),
    });
    this.#reports = new UpdateForwarder({
      saveFile: (data) => options.sink.saveFile(data),
      meter: this.#meter,
      promptMonitor: this.#promptMonitor,
      onUnknown: options.onUnknown,
      onWork: () => this.#deferred.working(),
    });
    this.#deferred = new DeferredOptions({
      clock: options.clock,
      lastSeen: options.lastSeen,
      choices: () => this.#choices,
      gone: () => this.gone,
    });
    const handlers = {
      lines: this.#lines,
      onUpdate: (params: unknown, line: OutputLine) => this.#update(params, line),
      onPermission: (params: unknown, asked: AskedRequest) => this.#permissions.ask(params, asked),
      onElicitation: (params: unknown, asked: AskedRequest) =>
        this.#elicitations.ask(params, asked),
      onAskedAgain: (request: AttachedRequest, withdrawn: AbortSignal) =>
        (request.kind === 'question' ? this.#elicitations : this.#permissions).askAgain(
          request,
          withdrawn,
        ),
      onElicitationDone: (params: unknown) => this.#elicitations.done(params),
      onUnknown: options.onUnknown,
    };
    this.process = new AcpProcess(child, options, handlers, from?.at);
    this.pid = child.pid;
    this.gone = this.process.gone;
  }

  get canResume(): boolean {
    return this.process.canResume;
  }

  get asks(): boolean | null {
    const { asks } = this.#options.agent;
    return asks === true && this.#choices.missingAskingMode !== null ? null : asks;
  }

  get defaults(): TurnSettings {
    return this.#choices.defaults;
  }

  /** Begins a session, or forks one, which `earlier` says how began. Throws {@link ProviderError}. */
  async create(origin: string | null = null, earlier: TurnSettings | null = null): Promise<void> {
    const params = this.#sessionParams();
    const create = () =>
      origin === null
        ? this.process.ask('session/new', params)
        : this.process.ask('session/fork', { sessionId: origin, ...params });
    const opened = openedIn(await this.process.login.around('opening', create));
    if (!opened.sessionId) throw unavailable('acp: the agent returned no id for its new session');
    this.ref = opened.sessionId;
    this.isForked = origin !== null;
    this.#opened(opened, earlier);
  }

  /** Takes up a session, which `earlier` says how began; `onReplay` takes its history. Throws {@link ProviderError}. */
  async resume(ref: string, earlier: TurnSettings | null, onReplay?: OnReplay): Promise<void> {
    const opening = { is: 'opening' as const, lastHeardAt: 0 };
    this.#onReplay = onReplay;
    const params = { sessionId: ref, ...this.#sessionParams() };
    this.#state = opening;
    // After a failure, updates are still ignored: the agent may replay more of its history until it has ended.
    const opened = await this.process.login.around('opening', () =>
      reopen(
        this.process,
        params,
        () => untilSilent(opening, this.#options.clock),
        onReplay !== undefined,
      ),
    );
    this.ref = ref;
    this.#opened(opened, earlier);
    this.#state = { is: 'idle' };
  }

  /** Earlier updates of the agent fill the fields that its answer leaves out. */
  #opened(opened: Offer, earlier: TurnSettings | null): void {
    const offer = { ...this.#choices.offer, ...Object.fromEntries(filledFields(opened)) };
    this.#choices = this.#choicesIn(offer, earlier);
    this.#deferred.expectOptions();
  }

  #choicesIn(offer: Offer, earlier: TurnSettings | null): Choices {
    const { agent, lastSeen } = this.#options;
    return new Choices(offer, earlier, agent.modes, (choices) => lastSeen.noteChoices(choices));
  }

  objection(settings: TurnSettings): ProviderError | null {
    return this.#deferred.mayBeOffered(settings) ? null : this.#choices.objection(settings);
  }

  awaits(settings: TurnSettings): boolean {
    return this.#deferred.mayBeOffered(settings);
  }

  untilOffered(settings: TurnSettings, signal: AbortSignal): Promise<void> {
    return this.#deferred.untilOffered(settings, signal);
  }

  /** Continues the turn of a session that an earlier server has prompted. Throws {@link ProviderError} at once. */
  attach(ref: string, state: string, turn: AttachedTurn): Promise<TurnOutcome> {
    const saved = readSavedAgent(state);
    this.ref = ref;
    this.#settings = turn.settings;
    this.#choices = this.#choicesIn(saved.choices.offer, null);
    restoreParts(this.#parts, saved, turn.tools);
    const running: Running = { is: 'running', isCancelled: false, refused: null, limit: null };
    this.#state = running;
    const { connection } = this.process;
    const answer = () => connection.resumePrompt(saved.prompt);
    const outcome = this.#untilAnswered(running, answer, () => false);
    if (saved.refused) this.#refuse(saved.refused.code, saved.refused.message);
    else if (turn.isInterrupted) this.cancel();
    connection.resume(turn);
    return outcome.finally(() => (this.#state = { is: 'idle' }));
  }

  async prompt(input: readonly StoredInputItem[], settings: TurnSettings): Promise<TurnOutcome> {
    const preparing: Preparing = {
      is: 'preparing',
      ignoresMessages: false,
      cancelled: new AbortController(),
    };
    this.#state = preparing;
    this.#meter.beginTurn();
    this.process.forgetNonProtocolOutput();
    this.#settings = settings;
    try {
      const waiting = new Set<ChoiceName>();
      const { signal } = preparing.cancelled;
      const left = await applySettings(
        this.#choices,
        settings,
        (method, asked) => this.#setChoice(preparing, method, asked),
        async (which) => {
          if (await this.#deferred.isDeferred(which, settings, signal)) waiting.add(which);
          return !waiting.has(which) && !signal.aborted;
        },
      );
      for (const message of left) await this.#reportNotice({ code: 'choice_kept', message });
      await this.#reportNotice(this.#promptMonitor.beforeTurn(settings, this.#choices));
      const prompt = await Promise.all(
        input.map((item) => contentOf(item, this.process.can.image)),
      );
      // Agents forget a cancel that comes before the prompt that it is about.
      if (signal.aborted) return { status: 'interrupted', error: null };
      return await this.#run(prompt, waiting);
    } finally {
      this.#state = { is: 'idle' };
    }
  }

  cancel(): void {
    const state = this.#state;
    if (state.is === 'preparing') state.cancelled.abort();
    if (state.is === 'running') state.isCancelled = true;
    this.process.notify('session/cancel', { sessionId: this.ref });
  }

  end(graceMs: number): Promise<void> {
    return this.process.end(graceMs);
  }

  async #run(prompt: object[], waiting: Set<ChoiceName>): Promise<TurnOutcome> {
    const running: Running = { is: 'running', isCancelled: false, refused: null, limit: null };
    this.#state = running;
    this.#reports.beginTurn();
    this.#lines.beginTurn();
    this.#deferred.begin({
      settings: this.#settings,
      waiting,
      ask: (method, params) => this.process.ask(method, { sessionId: this.ref, ...params }),
      reportNotice: (notice) => this.#reportNotice(notice),
      refuse: ({ code, message }) => this.#refuse(code, message),
    });
    const params = { sessionId: this.ref, prompt };
    const request = () => this.process.request('session/prompt', params);
    return this.#untilAnswered(running, request, () => !running.isCancelled);
  }

  /** Waits for the answer to a prompt. `isWanted`: whether the prompt may be sent once more after a login. */
  async #untilAnswered(
    running: Running,
    request: () => Promise<unknown>,
    isWanted: () => boolean,
  ): Promise<TurnOutcome> {
    try {
      const answer = await this.process.login.around('prompt', request, isWanted);
      const usage = this.#meter.turn(answer);
      if (usage) await this.process.connection.prompt.answer?.update({ type: 'usage', usage });
      const missing = running.isCancelled ? null : this.#deferred.answered();
      return (
        running.refused ?? (missing && failed(missing.code, missing.message)) ?? outcomeOf(answer)
      );
    } catch (error) {
      if (running.refused) return running.refused;
      if (error instanceof ProviderError && running.isCancelled)
        return { status: 'interrupted', error: null };
      return await outcomeOfError(error, this.process, this.#reports.rateLimit);
    } finally {
      running.limit?.[Symbol.dispose]();
      this.#deferred.end();
      this.#reports.endTurn();
    }
  }

  /** Reports what people should know and the agent does not say. */
  async #reportNotice(notice: Notice | null): Promise<void> {
    if (notice) await this.#options.sink.update({ type: 'notice', ...notice });
  }

  /** Sends a request that sets a choice: what the agent says meanwhile is of no turn. */
  async #setChoice(
    preparing: { ignoresMessages: boolean },
    method: string,
    params: object,
  ): Promise<unknown> {
    preparing.ignoresMessages = true;
    try {
      return await this.process.ask(method, { sessionId: this.ref, ...params });
    } finally {
      preparing.ignoresMessages = false;
      this.#deferred.expectOptions();
    }
  }

  #sessionParams(): { cwd: string; mcpServers: object[] } {
    const { cwd, tools } = this.#options;
    return { cwd, mcpServers: tools ? mcpServersOf(tools, this.process.can.mcp) : [] };
  }

  /** Whether nothing that the agent says is of a turn. */
  get #ignoresMessages(): boolean {
    const state = this.#state;
    return state.is === 'opening' || (state.is === 'preparing' && state.ignoresMessages);
  }

  #update(params: unknown, line: OutputLine): Promise<void> | undefined {
    const { clock } = this.#options;
    if (this.#state.is === 'opening') this.#state.lastHeardAt = clock.monotonic();
    const raw = fieldOf(params, 'update');
    if (this.#state.is === 'opening') this.#onReplay?.(raw);
    const other = otherSession(params, this.ref);
    const choice = other === null ? readChoiceUpdate(raw) : null;
    if (choice) {
      this.#choices.applyUpdate(choice, !this.#ignoresMessages);
      void this.#deferred.offered();
    }
    if (this.#ignoresMessages) return this.#reports.forwardOfSession(raw, other, line);
    return this.#reports.forward(raw, other, { settings: this.#settings, line });
  }

  /** Returns the memory for another server. Null unless the agent works on a prompt, and on nothing else. */
  #save(): SavedAgent | null {
    const { id: prompt } = this.process.connection.prompt;
    if (this.#state.is !== 'running' || prompt === null || !this.#deferred.isSettled) return null;
    return { prompt, refused: this.#state.refused?.error ?? null, ...saveParts(this.#parts) };
  }

  get #parts(): MemoryParts {
    return {
      process: this.process,
      choices: this.#choices,
      promptMonitor: this.#promptMonitor,
      reports: this.#reports,
      deferred: this.#deferred,
      meter: this.#meter,
    };
  }

  /** Fails the running turn: the agent is asked to stop, and ended if it does not. */
  #refuse(code: string, message: string): void {
    const state = this.#state;
    if (state.is === 'running' && !state.refused) {
      state.refused = failed(code, message);
      state.limit = this.#options.clock.after(REFUSED_GRACE_MS, () => void this.process.end(0));
      this.cancel();
    }
  }
}
