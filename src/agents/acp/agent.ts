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
  limited,
  ProviderError,
  type TurnOutcome,
  type TurnSettings,
  unavailable,
} from '../provider.ts';
import { applySettings, Choices } from './choices.ts';
import { agentError } from './connection.ts';
import { contentOf } from './blocks.ts';
import { Elicitations } from './elicitation.ts';
import { PermissionPromptMonitor, type Notice } from './permission-prompt-monitor.ts';
import { DeferredOptions } from './deferred-options.ts';
import { limitIn, outcomeOf } from './outcome.ts';
import {
  type ChoiceName,
  nothingOffered,
  type Offer,
  openedIn,
  readChoiceUpdate,
} from './options.ts';
import { mcpServersOf, isCadreTool } from './cadre-tools.ts';
import { declineTooLarge, describedRequest } from './permission-requests.ts';
import { allowOnce, outcomeFor, readPermission } from './permission.ts';
import { AcpProcess, type StartOptions } from './process.ts';
import { type OnReplay, reopen } from './reopen.ts';
import { UpdateForwarder, otherSession, refIn } from './update-forwarder.ts';
import { UsageMeter } from './usage.ts';
import type { StoredInputItem } from '../../api/input.ts';

/** Some agents replay a history after they have said that it is loaded: a silence this long ends it. */
export const HISTORY_PAUSE_MS = 250;
const MAX_HISTORY_MS = 10_000;
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

interface Running {
  is: 'running';
  isCancelled: boolean;
  /** Why the turn has to fail, whatever the agent says of it. */
  refused: TurnOutcome | null;
  /** Ends an agent that continues after that. */
  limit: Disposable | null;
}

/**
 * `opening`: the agent may replay the history of a session. `preparing`: the settings of a turn are applied before its
 * prompt is sent. `isDeaf`: the agent confirms a setting, so its messages belong to no turn.
 */
type State = { is: 'idle' } | { is: 'opening'; lastHeardAt: number } | Preparing | Running;

interface Preparing {
  is: 'preparing';
  isDeaf: boolean;
  cancelled: AbortController;
}

/** One session, in one process. */
export class AcpAgent implements Agent {
  /** Empty until the session is open. */
  ref = '';
  isForked: boolean | undefined;
  readonly process: AcpProcess;
  readonly pid: number;
  readonly gone: Promise<string>;
  readonly isLost = () => this.process.isLost();
  readonly #options: AgentOptions;
  #state: State = { is: 'idle' };
  #onReplay: OnReplay | undefined;
  #choices = new Choices(nothingOffered, null, {}, () => undefined);
  readonly #promptMonitor: PermissionPromptMonitor;
  readonly #reports: UpdateForwarder;
  readonly #deferred: DeferredOptions;
  readonly #meter: UsageMeter;
  #settings: TurnSettings = defaultSettings();

  constructor(child: Child, options: AgentOptions) {
    this.#options = options;
    const hasQuirk = (id: string) => Object.hasOwn(options.agent.quirks, id);
    this.#meter = new UsageMeter({
      isCumulative: () => hasQuirk('cumulative_usage'),
      isCostOfProcess: () => hasQuirk('cost_of_process'),
      before: options.usedBefore,
    });
    const elicitations = new Elicitations({
      sink: options.sink,
      isAsking: () =>
        this.#state.is === 'running' && this.#settings.permissionMode === 'require_approval',
      callOf: (ref) => this.#reports.calls.of(ref),
      onPage: options.onPage,
    });
    this.#promptMonitor = new PermissionPromptMonitor(() => this.asks);
    this.#reports = new UpdateForwarder({
      sink: options.sink,
      meter: this.#meter,
      frankness: this.#promptMonitor,
      onUnknown: options.onUnknown,
      onWork: () => this.#deferred.working(),
    });
    this.#deferred = new DeferredOptions({
      clock: options.clock,
      lastSeen: options.lastSeen,
      choices: () => this.#choices,
      gone: () => this.gone,
    });
    this.process = new AcpProcess(child, options, {
      onUpdate: (params) => this.#update(params),
      onPermission: (params, withdrawn) =>
        declineTooLarge(params, this.ref, options.sink) ?? this.#permission(params, withdrawn),
      onElicitation: (params, withdrawn) => elicitations.ask(params, withdrawn),
      onElicitationDone: (params) => elicitations.done(params),
      onUnknown: options.onUnknown,
    });
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
    try {
      const opened = await this.process.login.around('opening', () =>
        reopen(this.process, params, () => this.#untilSilent(opening), onReplay !== undefined),
      );
      this.ref = ref;
      this.#opened(opened, earlier);
    } finally {
      this.#state = { is: 'idle' };
    }
  }

  /** Earlier updates of the agent fill the fields that its answer leaves out. */
  #opened(opened: Offer, earlier: TurnSettings | null): void {
    const offer = { ...this.#choices.offer, ...Object.fromEntries(filledFields(opened)) };
    const { agent, lastSeen } = this.#options;
    const onChange = (choices: Choices) => lastSeen.noteChoices(choices);
    this.#choices = new Choices(offer, earlier, agent.modes, onChange);
    this.#deferred.expectOptions();
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

  async prompt(input: readonly StoredInputItem[], settings: TurnSettings): Promise<TurnOutcome> {
    const preparing: Preparing = {
      is: 'preparing',
      isDeaf: false,
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
      for (const message of left) await this.#tell({ code: 'choice_kept', message });
      await this.#tell(this.#promptMonitor.beforeTurn(settings, this.#choices));
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
    this.#deferred.begin({
      settings: this.#settings,
      waiting,
      ask: (method, params) => this.process.ask(method, { sessionId: this.ref, ...params }),
      tell: (notice) => this.#tell(notice),
      refuse: ({ code, message }) => void this.#refuse(code, message),
    });
    try {
      const params = { sessionId: this.ref, prompt };
      const answer = await this.process.login.around(
        'prompt',
        () => this.process.request('session/prompt', params),
        () => !running.isCancelled,
      );
      const usage = this.#meter.turn(answer);
      if (usage) await this.#options.sink.update({ type: 'usage', usage });
      const missing = running.isCancelled ? null : this.#deferred.answered();
      return (
        running.refused ?? (missing && failed(missing.code, missing.message)) ?? outcomeOf(answer)
      );
    } catch (error) {
      if (running.refused) return running.refused;
      if (error instanceof ProviderError)
        return running.isCancelled
          ? { status: 'interrupted', error: null }
          : failed(error.code, error.message);
      const said = agentError(error);
      const limit = said && limitIn(error, this.#reports.rateLimit);
      if (limit) return limited('the agent', said.message, limit);
      const why = said && this.process.withNonProtocolOutput(`the agent failed: ${said.message}`);
      if (why !== null) return failed('provider_error', why);
      return failed('provider_exited', await this.process.describeLoss());
    } finally {
      running.limit?.[Symbol.dispose]();
      this.#deferred.end();
      this.#reports.endTurn();
    }
  }

  /** Reports what people should know and the agent does not say. */
  async #tell(notice: Notice | null): Promise<void> {
    if (notice) await this.#options.sink.update({ type: 'notice', ...notice });
  }

  /** Sends a request that sets a choice: what the agent says meanwhile is of no turn. */
  async #setChoice(
    preparing: { isDeaf: boolean },
    method: string,
    params: object,
  ): Promise<unknown> {
    preparing.isDeaf = true;
    try {
      return await this.process.ask(method, { sessionId: this.ref, ...params });
    } finally {
      preparing.isDeaf = false;
      this.#deferred.expectOptions();
    }
  }

  /** Resolves when the agent has been silent for a while: it has replayed the history of the session. */
  async #untilSilent(opening: { lastHeardAt: number }): Promise<void> {
    const { clock } = this.#options;
    const began = clock.monotonic();
    opening.lastHeardAt = began;
    for (let now = began; now < began + MAX_HISTORY_MS; now = clock.monotonic()) {
      const rest = opening.lastHeardAt + HISTORY_PAUSE_MS - now;
      if (rest <= 0) break;
      await clock.sleep(rest);
    }
  }

  #sessionParams(): { cwd: string; mcpServers: object[] } {
    const { cwd, tools } = this.#options;
    return { cwd, mcpServers: tools ? mcpServersOf(tools, this.process.can.mcp) : [] };
  }

  /** Whether nothing that the agent says is of a turn. */
  get #isDeaf(): boolean {
    const state = this.#state;
    return state.is === 'opening' || (state.is === 'preparing' && state.isDeaf);
  }

  #update(params: unknown): Promise<void> | undefined {
    const { clock } = this.#options;
    if (this.#state.is === 'opening') this.#state.lastHeardAt = clock.monotonic();
    const raw = fieldOf(params, 'update');
    if (this.#state.is === 'opening') this.#onReplay?.(raw);
    const other = otherSession(params, this.ref);
    const choice = other === null ? readChoiceUpdate(raw) : null;
    if (choice) {
      this.#choices.applyUpdate(choice, !this.#isDeaf);
      void this.#deferred.offered();
    }
    if (this.#isDeaf) return this.#reports.forwardOfSession(raw, other);
    return this.#reports.forward(raw, other, this.#settings);
  }

  /** Turns a permission request into an approval with `require_approval`; otherwise it fails the turn (interface 3.4). */
  async #permission(params: unknown, withdrawn: AbortSignal): Promise<unknown> {
    if (this.#isDeaf) return { outcome: 'cancelled' };
    const { sink, cwd, agent, clock } = this.#options;
    this.#promptMonitor.noteAsked();
    const permission = readPermission(params);
    const { tool, options } = permission;
    const { calls } = this.#reports;
    const ref = tool && refIn(otherSession(params, this.ref), tool.ref);
    // For some agents this is the first mention of the tool.
    if (ref !== null) {
      const change = calls.asked(ref, permission.shown);
      await sink.update({ type: 'tool', ref, change });
    }
    const known = ref === null ? undefined : calls.of(ref);
    const allowed = isCadreTool(permission, known, agent.quirks) && allowOnce(options);
    if (allowed) return allowed;
    const request = await describedRequest(permission, ref, { calls, cwd, clock }, withdrawn);
    if (this.#settings.permissionMode !== 'require_approval') {
      await sink.update({ type: 'declined_unasked' });
      return this.#refuse(
        'permission_required',
        `the agent requested permission: ${request.title}: send the turn with permission_mode "require_approval", ` +
          "or allow the action in the agent's own configuration",
      );
    }
    const answer = await sink.ask(request, withdrawn);
    const outcome = outcomeFor(answer, options);
    if (!outcome) {
      const message = `cannot accept the request: the agent offers no option to allow it once: ${request.title}`;
      return this.#refuse('provider_error', message);
    }
    if (ref !== null && answer.decision === 'decline')
      await sink.update({ type: 'tool', ref, change: { status: 'failed' } });
    return outcome;
  }

  /** Fails the running turn: the agent is asked to stop, and ended if it does not. */
  #refuse(code: string, message: string): object {
    const state = this.#state;
    if (state.is === 'running' && !state.refused) {
      state.refused = failed(code, message);
      state.limit = this.#options.clock.after(REFUSED_GRACE_MS, () => void this.process.end(0));
      this.cancel();
    }
    return { outcome: 'cancelled' };
  }
}
