import type { Session, StoredInputItem } from '../../api/sessions.ts';
import type { Clock } from '../../lib/clock.ts';
import { answered } from '../agent-process.ts';
import {
  type Agent,
  type AgentAnswer,
  type AgentSink,
  type AgentTools,
  type AgentUpdate,
  failed,
  ProviderError,
  type TurnOutcome,
  type TurnSettings,
} from '../provider.ts';
import type { Route } from './app-server.ts';
import { type Params, Refusal, type RequestId } from './connection.ts';
import { Reader } from './items.ts';
import type { CodexModel } from './models.ts';
import { outcomeOf, readError, turnIn, type TurnError } from './outcome.ts';
import { type Asked, readRequest, refusalOf } from './requests.ts';
import {
  configOf,
  modeRefused,
  objectionTo,
  permissionsFor,
  readOwn,
  readThread,
} from './settings.ts';
import { type Lease, unlessAborted } from './shared-server.ts';
import { Meter } from './usage.ts';

/** How codex says that there is nothing to interrupt. */
const NO_TURN_WORDS = /no active turn/i;
/** How codex says that it does not have a thread. */
const GONE_WORDS =
  /no rollout found|missing source rollout|no such file|not loaded|not found|invalid (thread|session) id/i;
/** A turn that was left behind has this long to end, before somebody else may have its thread. */
const LEFT_TURN_MS = 10_000;

export interface CodexOptions {
  clock: Clock;
  signal: AbortSignal;
  models: readonly CodexModel[];
  /** Whether codex has a home that is cadre's alone. */
  hasOwnHome: boolean;
  /** The tools that the agent of a session is given. */
  toolsFor: (sessionId: string) => AgentTools;
  onUnknown: () => void;
}

/** Starts a thread for a session, or resumes the one it has. Errors as in `Provider.open`. */
export async function openCodex(
  session: Session,
  sink: AgentSink,
  lease: Lease,
  options: CodexOptions,
): Promise<Agent> {
  const agent = new CodexAgent(session, sink, lease, options);
  try {
    await unlessAborted(agent.open(), options.signal);
    return agent;
  } catch (error) {
    await agent.end(0);
    throw error;
  }
}

/** Whether an error says that codex does not have a thread. */
export function isGone(error: unknown): boolean {
  return isRefusal(error, GONE_WORDS);
}

function isRefusal(error: unknown, words: RegExp): boolean {
  const { cause } = error as Error;
  return cause instanceof Refusal && words.test(cause.message);
}

/** The turn that it was asked for. */
interface Turn {
  /** Null until codex has named it. */
  id: string | null;
  readonly ended: PromiseWithResolvers<TurnOutcome>;
  error: TurnError | null;
}

/** One session: a thread of the app-server that all sessions share. */
class CodexAgent implements Agent, Route {
  ref = '';
  defaults: TurnSettings = { permissionMode: null, model: null, thinkingEffort: null };
  readonly canResume = true;
  readonly gone: Promise<string>;
  readonly free: Promise<void>;
  readonly #gone = Promise.withResolvers<string>();
  readonly #free = Promise.withResolvers<void>();
  readonly #session: Session;
  readonly #sink: AgentSink;
  readonly #lease: Lease;
  readonly #options: CodexOptions;
  readonly #reader = new Reader();
  readonly #meter = new Meter();
  /** Requests that people are asked. */
  readonly #asking = new Map<RequestId, AbortController>();
  #settings: TurnSettings = this.defaults;
  #turn: Turn | undefined;
  /** The turn that its thread is at, whoever began it; empty where nobody has told which. */
  #active: string | null = null;
  /** Whether codex has said that it began that turn: until then there is nothing to interrupt. */
  #hasBegun = false;
  #idle = Promise.withResolvers<void>();
  #cancelled = Promise.withResolvers<void>();
  #isCancelled = false;
  /** It is of no use any more: what it says is dropped, and its turn has to end. */
  #isOver = false;
  #isRetired = false;
  #released: Promise<void> | undefined;

  constructor(session: Session, sink: AgentSink, lease: Lease, options: CodexOptions) {
    this.#session = session;
    this.#sink = sink;
    this.#lease = lease;
    this.#options = options;
    this.gone = this.#gone.promise;
    this.free = this.#free.promise;
    void lease.server.gone.then((how) => this.#lost(how));
  }

  get pid(): number {
    return this.#lease.server.pid;
  }

  async open(): Promise<void> {
    const { provider_session_ref: ref, provider_defaults: began, usage } = this.#session;
    if (ref !== null) {
      await this.#whenFree(ref);
      try {
        await this.#resume(ref, began?.model ?? null);
        if (began)
          this.defaults = {
            permissionMode: began.permission_mode,
            model: began.model,
            thinkingEffort: began.thinking_effort,
          };
        return;
      } catch (error) {
        this.#lease.server.leave(ref, this);
        if (!isGone(error)) throw error;
        // A thread that has had no turn may not be stored: there is nothing to resume, and nothing to lose.
        if (usage?.output_tokens) {
          const { message } = error as Error;
          throw new ProviderError('resume_failed', message, { cause: error });
        }
      }
    }
    await this.#start();
  }

  objection(settings: TurnSettings): ProviderError | null {
    return objectionTo(settings, this.defaults.model, this.#options.models);
  }

  async prompt(input: readonly StoredInputItem[], settings: TurnSettings): Promise<TurnOutcome> {
    this.#isCancelled = false;
    this.#cancelled = Promise.withResolvers();
    const lost = this.gone.then((how) => failed('provider_exited', `the agent ${how}`));
    // A second turn would be taken for a word in the first: that one has to end before.
    while (this.#active !== null && !this.#isCancelled && !this.#isOver) {
      this.#interrupt(this.#active);
      await Promise.race([this.#idle.promise, this.#cancelled.promise, lost]);
    }
    if (this.#isCancelled) return { status: 'interrupted', error: null };
    if (this.#isOver) return lost;
    this.#settings = settings;
    const turn: Turn = { id: null, ended: Promise.withResolvers(), error: null };
    this.#turn = turn;
    this.#reader.begin();
    this.#meter.begin();
    try {
      const id = turnIn(await this.#ask('turn/start', this.#wishes(input, settings))) ?? '';
      if (this.#turn === turn) this.#begun(id);
    } catch (error) {
      if (this.#turn === turn) this.#rest();
      if (this.#isOver) return lost;
      const { cause } = error as Error;
      const { permissionMode: mode } = settings;
      const isMode =
        cause instanceof Refusal && mode !== null && cause.message.includes(`\`${mode}\``);
      throw isMode ? modeRefused(mode, { cause: error }) : error;
    }
    return Promise.race([turn.ended.promise, lost]);
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#cancelled.resolve();
    if (this.#active !== null) this.#interrupt(this.#active);
  }

  /** Leaves the thread; the server goes on for the others. A turn that does not end keeps the thread. */
  end(graceMs: number): Promise<void> {
    return (this.#released ??= this.#release(graceMs));
  }

  retire(): void {
    this.#isRetired = true;
    if (!this.#turn) this.#lost(RETIRED);
  }

  /** A message of its thread was lost: its session goes on in another agent, when its turn is over. */
  lost(why: string): void {
    this.#lost(why);
  }

  hear(method: string, params: Params): Promise<void> | undefined {
    switch (method) {
      case 'turn/started':
        this.#hasBegun = true;
        this.#begun(turnIn(params) ?? '');
        return undefined;
      case 'turn/completed':
        return this.#finish(params);
      case 'serverRequest/resolved':
        this.#asking.get(params.requestId as RequestId)?.abort();
        return undefined;
      case 'error':
        if (this.#turn) this.#turn.error = readError(params) ?? this.#turn.error;
        return undefined;
      case 'thread/tokenUsage/updated':
        return this.#count(params);
      default:
        return this.#say(method, params);
    }
  }

  /** A request becomes an approval where approvals are on; else it is declined, so no turn hangs. */
  asked(id: RequestId, method: string, params: Params): void {
    const { server } = this.#lease;
    const asked = readRequest(method, params, this.#reader);
    if (!asked) {
      this.#options.onUnknown();
      server.refuse(id, `cadre knows no request ${method}`);
    } else if (this.#isOver) {
      server.answer(id, asked.answer({ decision: 'cancelled' }));
    } else {
      void this.#answer(id, asked);
    }
  }

  async #start(): Promise<void> {
    const { title, id, model } = this.#session;
    const thread = readThread(await this.#ask('thread/start', { ...this.#place(), model }));
    if (this.#isOver) return;
    this.ref = thread.id;
    this.defaults = thread.settings;
    this.#lease.server.join(this.ref, this);
    // Codex stores a thread that has a name; without one it would not know it before its first turn.
    await this.#ask('thread/name/set', { threadId: this.ref, name: title ?? `cadre ${id}` }).catch(
      () => undefined,
    );
  }

  async #resume(ref: string, began: string | null): Promise<void> {
    this.ref = ref;
    this.#lease.server.join(ref, this);
    const model = this.#session.model ?? began;
    const wanted = { ...this.#place(), threadId: ref, excludeTurns: true, model };
    const thread = readThread(await this.#ask('thread/resume', wanted));
    this.defaults = thread.settings;
    if (!thread.isActive) return;
    this.#active ??= '';
    this.#hasBegun = true;
  }

  /** What codex keeps of no thread: it is told at each start and each resume. */
  #place(): object {
    return {
      cwd: this.#session.cwd,
      approvalsReviewer: 'user',
      ...configOf(this.#options.toolsFor(this.#session.id)),
    };
  }

  /** All that a turn may wish for, each time: codex keeps what the last one was told. */
  #wishes(input: readonly StoredInputItem[], settings: TurnSettings): object {
    const model = settings.model ?? this.defaults.model;
    const usual = this.#options.models.find(({ id }) => id === model)?.defaultEffort;
    return {
      threadId: this.ref,
      input: input.map(inputOf),
      model,
      effort: settings.thinkingEffort ?? this.defaults.thinkingEffort ?? usual ?? null,
      approvalsReviewer: 'user',
      ...permissionsFor(settings.permissionMode, readOwn(this.defaults.permissionMode)),
    };
  }

  /** Waits for the turn of an agent that has left the thread. */
  async #whenFree(ref: string): Promise<void> {
    const { server } = this.#lease;
    const before = server.routeOf(ref);
    if (!before) return;
    const { clock } = this.#options;
    try {
      await answered(before.free, { ms: LEFT_TURN_MS, clock, gone: server.gone });
    } catch (error) {
      throw new ProviderError(
        'provider_unavailable',
        'codex: it has not ended the turn that this session was last at: try again later; ' +
          'when its other sessions are idle it is started anew',
        { cause: error },
      );
    }
  }

  #begun(id: string): void {
    if (this.#turn) this.#turn.id ??= id;
    this.#active = this.#turn?.id ?? id;
    // An interrupt that came before the turn had begun was not for it.
    if (this.#isOver || (this.#isCancelled && this.#turn)) this.#interrupt(id);
  }

  #finish(params: Params): undefined {
    const id = turnIn(params);
    if (this.#active !== '' && this.#active !== id) return;
    const turn = this.#turn;
    turn?.ended.resolve(outcomeOf(params, turn.error, this.#options.hasOwnHome));
    this.#rest();
  }

  /** Its thread is at no turn. What follows is outside of one, also before whoever waits for the end has noticed. */
  #rest(): void {
    this.#turn = undefined;
    this.#active = null;
    this.#hasBegun = false;
    this.#idle.resolve();
    this.#idle = Promise.withResolvers();
    if (this.#isRetired) this.#lost(RETIRED);
    else if (this.#isOver) this.#leave();
  }

  /** Its answer tells nothing, unless there is no turn where there was one: its end was missed. */
  #interrupt(turnId: string): void {
    this.#ask('turn/interrupt', { threadId: this.ref, turnId }).catch((error: unknown) => {
      const isMissed = isRefusal(error, NO_TURN_WORDS);
      if (!isMissed || !this.#hasBegun || this.#active !== turnId) return;
      this.#turn?.ended.resolve({ status: 'interrupted', error: null });
      this.#rest();
    });
  }

  /** What is of a turn that is over already has come too late for the one that runs. */
  #isLate({ turnId }: Params): boolean {
    const running = this.#turn?.id;
    return typeof turnId === 'string' && running != null && turnId !== running;
  }

  async #say(method: string, params: Params): Promise<void> {
    if (this.#isOver || this.#isLate(params)) return;
    const updates = this.#reader.read(method, params);
    if (updates === 'unknown') this.#options.onUnknown();
    else await this.#tell(updates);
  }

  async #count(params: Params): Promise<void> {
    const usage = this.#meter.read(params);
    if (usage === 'unknown') return this.#options.onUnknown();
    // What is told of earlier turns when a thread is resumed is of none.
    if (this.#turn?.id && this.#turn.id === params.turnId && !this.#isOver)
      await this.#tell([{ type: 'usage', usage }]);
  }

  async #tell(updates: readonly AgentUpdate[]): Promise<void> {
    for (const update of updates) await this.#sink.update(update);
  }

  async #answer(id: RequestId, asked: Asked): Promise<void> {
    const withdrawn = new AbortController();
    this.#asking.set(id, withdrawn);
    try {
      const answer = await this.#decide(asked, withdrawn.signal);
      if (!withdrawn.signal.aborted) this.#lease.server.answer(id, asked.answer(answer));
    } finally {
      this.#asking.delete(id);
    }
  }

  async #decide(asked: Asked, withdrawn: AbortSignal): Promise<AgentAnswer> {
    const { permissionMode: mode } = this.#settings;
    const { itemId } = asked;
    let answer: AgentAnswer = { decision: 'decline', reason: refusalOf(asked, mode) };
    if (mode === 'require_approval') {
      await this.#show(itemId, 'pending');
      answer = await this.#sink.ask(asked.request, withdrawn);
    }
    if (answer.decision === 'accept') await this.#show(itemId, 'running');
    if (answer.decision === 'decline' && itemId !== null)
      this.#reader.decline(itemId, `declined: ${answer.reason ?? 'by the user'}`);
    return answer;
  }

  async #show(ref: string | null, status: 'pending' | 'running'): Promise<void> {
    if (ref !== null) await this.#tell([{ type: 'tool', ref, change: { status } }]);
  }

  #lost(how: string): void {
    this.#isOver = true;
    for (const asking of this.#asking.values()) asking.abort();
    this.#gone.resolve(how);
    void this.end(0);
  }

  async #release(graceMs: number): Promise<void> {
    const { server } = this.#lease;
    const { clock } = this.#options;
    this.#isOver = true;
    if (this.#active !== null) this.#interrupt(this.#active);
    if (this.#turn || this.#active !== null) {
      const limit = new AbortController();
      const late = clock.sleep(graceMs, limit.signal).catch(() => undefined);
      await Promise.race([this.free, late, server.gone]);
      limit.abort();
    } else {
      this.#leave();
    }
    await this.#lease.release(graceMs);
    this.#gone.resolve('was ended');
  }

  /** The thread may be had by another: what its commands left running ends, and codex may forget it. */
  #leave(): void {
    const thread = { threadId: this.ref };
    if (this.#lease.server.routeOf(this.ref) === this) {
      this.#ask('thread/backgroundTerminals/clean', thread).catch(() => undefined);
      this.#ask('thread/unsubscribe', thread).catch(() => undefined);
      this.#lease.server.leave(this.ref, this);
    }
    this.#free.resolve();
  }

  #ask(method: string, params: object): Promise<unknown> {
    return this.#lease.server.ask(method, params);
  }
}

const RETIRED = 'made way for one with the new login';

function inputOf(item: StoredInputItem): object {
  return item.type === 'text'
    ? { type: 'text', text: item.text, text_elements: [] }
    : { type: 'localImage', path: item.path };
}
