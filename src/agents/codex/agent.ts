import { once } from 'node:events';
import type { Session } from '../../api/sessions.ts';
import { OpenRequests } from '../json-connection.ts';
import { hasContent } from '../conversations.ts';
import {
  type Agent,
  type AgentAnswer,
  type AgentSink,
  lostTurn,
  defaultSettings,
  ProviderError,
  report,
  type TurnOutcome,
  type TurnSettings,
} from '../provider.ts';
import { earlierDefaults } from '../session-settings.ts';
import { unlessAborted, within } from '../agent-process.ts';
import type { Route } from './app-server.ts';
import type { Params, RequestId } from './connection.ts';
import { Reader } from './items.ts';
import { reachedLimit, Meter } from './usage.ts';
import {
  type CodexOptions,
  configOf,
  modeRefusedBy,
  objectionTo,
  readThread,
  turnParams,
} from './settings.ts';
import { outcomeOf, readError, readRetry, turnIn } from './outcome.ts';
import { type CodexRequest, readRequest, refusalOf } from './requests.ts';
import type { Lease } from './shared-server.ts';
import {
  type AgentState,
  type AtTurn,
  beginThread,
  foreignTurn,
  ownTurn,
  type ThreadTurn,
  isGone,
  isRefusal,
  whenFree,
} from './threads.ts';
import type { StoredInputItem } from '../../api/input.ts';

/** How codex says that there is nothing to interrupt. */
const NO_TURN_WORDS = /no active turn/i;
const RETIRED = 'was replaced by an agent with the new login';

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

/** One session: a thread of the app-server that all sessions share. */
class CodexAgent implements Agent, Route {
  /** Empty until the thread is open. */
  ref = '';
  defaults: TurnSettings = defaultSettings();
  readonly canResume = true;
  isForked: boolean | undefined;
  readonly isLost = () => this.#isOver || this.#lease.server.isLost();
  readonly #gone = Promise.withResolvers<string>();
  readonly gone = this.#gone.promise;
  readonly #free = Promise.withResolvers<void>();
  readonly free = this.#free.promise;
  readonly #session: Session;
  readonly #sink: AgentSink;
  readonly #lease: Lease;
  readonly #options: CodexOptions;
  readonly #reader = new Reader();
  readonly #meter = new Meter();
  readonly #requests = new OpenRequests<RequestId>();
  #state: AgentState = { is: 'idle' };
  #settings: TurnSettings = this.defaults;
  /** Aborts when the newest prompt is cancelled. */
  #cancelling = new AbortController();
  #released: Promise<void> | undefined;

  constructor(session: Session, sink: AgentSink, lease: Lease, options: CodexOptions) {
    this.#session = session;
    this.#sink = sink;
    this.#lease = lease;
    this.#options = options;
    void lease.server.gone.then((how) => this.lost(how));
  }

  get pid(): number {
    return this.#lease.server.pid;
  }

  async open(): Promise<void> {
    const { provider_session_ref: ref } = this.#session;
    if (ref === null) return this.#begin();
    await whenFree(ref, this.#lease.server, this.#options.clock);
    try {
      await this.#resume(ref, earlierDefaults(this.#session));
    } catch (error) {
      this.#lease.server.leave(ref, this);
      if (!isGone(error)) throw error;
      // Codex may not have stored a thread that has had no turn: there is nothing to resume, and nothing to lose.
      if (!hasContent(this.#session)) return this.#begin();
      const { message } = error as Error;
      throw new ProviderError('resume_failed', message, { cause: error });
    }
  }

  objection(settings: TurnSettings): ProviderError | null {
    return objectionTo(settings, this.defaults.model, this.#options.models);
  }

  async prompt(input: readonly StoredInputItem[], settings: TurnSettings): Promise<TurnOutcome> {
    const { signal } = (this.#cancelling = new AbortController());
    const lost = lostTurn(this.gone);
    const cancelled = once(signal, 'abort');
    // Codex would take a second turn for a message in the first, so the first has to end before.
    for (let turn = this.#running; turn && !signal.aborted && !this.#isOver; turn = this.#running) {
      this.#interrupt(turn);
      await Promise.race([turn.over.promise, cancelled, lost]);
    }
    if (signal.aborted) return { status: 'interrupted', error: null };
    if (this.#isOver) return lost;
    this.#settings = settings;
    const turn = ownTurn();
    this.#moveTo({ is: 'starting', turn });
    this.#reader.begin();
    this.#meter.begin();
    const { ref: threadId, defaults } = this;
    const { models, access } = this.#options;
    try {
      const params = await turnParams({ threadId, input, settings, defaults, models, access });
      const id = turnIn(await this.#ask('turn/start', params));
      if (this.#at?.turn === turn) this.#beginTurn(id);
    } catch (error) {
      if (this.#at?.turn === turn) this.#rest(turn);
      if (this.#isOver) return lost;
      throw modeRefusedBy(error, settings) ?? error;
    }
    return Promise.race([turn.own.outcome.promise, lost]);
  }

  cancel(): void {
    this.#cancelling.abort();
    if (this.#running) this.#interrupt(this.#running);
  }

  /** Leaves the thread; the server continues for the other sessions. A turn that does not end keeps the thread. */
  end(graceMs: number): Promise<void> {
    return (this.#released ??= this.#release(graceMs));
  }

  retire(): void {
    const own = this.#at?.turn.own;
    if (own) own.isLast = true;
    else this.lost(RETIRED);
  }

  /** Retires the agent. Its session continues in another agent. */
  lost(why: string): void {
    this.#leaveWhenIdle();
    this.#requests.withdrawAll();
    this.#gone.resolve(why);
    void this.end(0);
  }

  onNotification(method: string, params: Params): Promise<void> | undefined {
    switch (method) {
      case 'turn/started':
        this.#beginTurn(turnIn(params)).hasBegun = true;
        return undefined;
      case 'turn/completed':
        this.#finish(params);
        return undefined;
      case 'serverRequest/resolved':
        this.#requests.withdraw(params.requestId as RequestId);
        return undefined;
      case 'error': {
        const own = this.#at?.turn.own;
        if (!own || this.#isLate(params)) return undefined;
        own.error = readError(params) ?? own.error;
        const retry = readRetry(params);
        return retry === null
          ? undefined
          : report(this.#sink, [{ type: 'notice', code: 'waiting', message: retry }]);
      }
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
      server.connection.refuse(id, `cadre does not support the request ${method}`);
    } else if (this.#isOver) {
      server.connection.answer(id, asked.answer({ decision: 'cancelled' }));
    } else {
      const decide = (withdrawn: AbortSignal) => this.#decide(asked, withdrawn);
      const send = (answer: AgentAnswer) => server.connection.answer(id, asked.answer(answer));
      void this.#requests.answer(id, decide, send);
    }
  }

  async #begin(): Promise<void> {
    const { title, id, model } = this.#session;
    const params = { ...this.#threadParams(), model };
    const begun = await beginThread(this.#lease.server, params, this.#options.fork, this.#sink);
    this.isForked = begun.isForked;
    const thread = readThread(begun.opened);
    if (this.#isOver) return;
    this.ref = thread.id;
    // Codex gives a fork the settings of the last turn, which may have been set for that turn only.
    this.defaults = (this.isForked ? earlierDefaults(this.#session) : null) ?? thread.settings;
    this.#lease.server.join(this.ref, this);
    // Codex stores a thread that has a name; without one it would not know it before its first turn.
    await this.#ask('thread/name/set', { threadId: this.ref, name: title ?? `cadre ${id}` }).catch(
      () => undefined,
    );
  }

  async #resume(ref: string, earlier: TurnSettings | null): Promise<void> {
    this.ref = ref;
    this.#lease.server.join(ref, this);
    const model = this.#session.model ?? earlier?.model ?? null;
    const params = { ...this.#threadParams(), threadId: ref, excludeTurns: true, model };
    const thread = readThread(await this.#ask('thread/resume', params));
    this.defaults = earlier ?? thread.settings;
    if (!thread.isActive) return;
    const turn = this.#running ?? foreignTurn();
    turn.hasBegun = true;
    this.#moveTo({ is: 'running', turn });
  }

  /** Returns the parameters that codex does not store with a thread: each start and each resume sends them. */
  #threadParams(): object {
    const { id, cwd } = this.#session;
    const { toolsFor, variablesAt } = this.#options;
    return {
      cwd,
      approvalsReviewer: 'user',
      ...configOf(toolsFor(id), variablesAt(cwd)),
    };
  }

  /** The turn that the thread is at, also while the agent leaves. */
  get #at(): AtTurn | null {
    const state = this.#state;
    if (state.is === 'leaving') return state.at;
    return state.is === 'starting' || state.is === 'running' ? state : null;
  }

  /** The turn of the thread that can be interrupted. */
  get #running(): ThreadTurn | null {
    return this.#at?.is === 'running' ? this.#at.turn : null;
  }

  /** Whether the agent is of no use any more: what codex says for it is dropped. */
  get #isOver(): boolean {
    return this.#state.is === 'leaving' || this.#state.is === 'over';
  }

  #moveTo(at: AtTurn | null): void {
    if (this.#isOver) this.#state = at ? { is: 'leaving', at } : { is: 'over' };
    else this.#state = at ?? { is: 'idle' };
  }

  #leaveWhenIdle(): void {
    this.#state = this.#at ? { is: 'leaving', at: this.#at } : { is: 'over' };
  }

  /** The thread is at a turn; `id` is null where codex has not named the turn. */
  #beginTurn(id: string | null): ThreadTurn {
    const turn = this.#at?.turn ?? foreignTurn();
    turn.id = turn.own ? (turn.id ?? id) : id;
    this.#moveTo({ is: 'running', turn });
    // Codex has refused an interrupt that came before the turn had begun.
    if (this.#isOver || (this.#cancelling.signal.aborted && turn.own)) this.#interrupt(turn);
    return turn;
  }

  #finish(params: Params): void {
    const turn = this.#running;
    if (!turn || (turn.id !== null && turn.id !== turnIn(params))) return;
    const error = turn.own?.error ?? null;
    const { login, clock, onEnded } = this.#options;
    const limit = () => reachedLimit(this.#lease.server.rateLimits, clock.now());
    turn.own?.outcome.resolve(onEnded(outcomeOf(params, error, login, limit)));
    this.#rest(turn);
  }

  /** The thread is at no turn any more: a message that follows belongs to none, even before `prompt` has returned. */
  #rest(turn: ThreadTurn): void {
    this.#moveTo(null);
    turn.over.resolve();
    if (this.#isOver) this.#leave();
    else if (turn.own?.isLast) this.lost(RETIRED);
  }

  /** Interrupts a turn. Codex refuses that where the turn has ended and cadre has missed the end. */
  #interrupt(turn: ThreadTurn): void {
    const { id } = turn;
    this.#ask('turn/interrupt', { threadId: this.ref, turnId: id ?? '' }).catch(
      (error: unknown) => {
        const isStillAt = this.#at?.turn === turn && turn.id === id;
        if (!isStillAt || !turn.hasBegun || !isRefusal(error, NO_TURN_WORDS)) return;
        turn.own?.outcome.resolve({ status: 'interrupted', error: null });
        this.#rest(turn);
      },
    );
  }

  /** Whether a message belongs to an earlier turn than the one that the agent runs. */
  #isLate({ turnId }: Params): boolean {
    const turn = this.#at?.turn;
    return (
      typeof turnId === 'string' && turn?.own != null && turn.id !== null && turnId !== turn.id
    );
  }

  async #say(method: string, params: Params): Promise<void> {
    if (this.#isOver || this.#isLate(params)) return;
    const updates = this.#reader.read(method, params);
    if (updates === 'unknown') this.#options.onUnknown();
    else await report(this.#sink, updates);
  }

  async #count(params: Params): Promise<void> {
    const usage = this.#meter.read(params);
    if (usage === 'unknown') return this.#options.onUnknown();
    // After a resume codex reports the usage of earlier turns again. It belongs to no turn of this agent.
    const turn = this.#at?.turn;
    if (turn?.own && turn.id !== null && turn.id === params.turnId && !this.#isOver)
      await report(this.#sink, [{ type: 'usage', usage }]);
  }

  async #decide(asked: CodexRequest, withdrawn: AbortSignal): Promise<AgentAnswer> {
    const { permissionMode: mode } = this.#settings;
    const { itemId } = asked;
    let answer: AgentAnswer = { decision: 'decline', reason: refusalOf(asked, mode) };
    if (mode !== 'require_approval' && !asked.excess) {
      await report(this.#sink, [{ type: 'declined_unasked' }]);
    } else if (!asked.excess) {
      await this.#show(itemId, 'pending');
      answer = await this.#sink.ask(asked.request, withdrawn);
    }
    if (answer.decision === 'accept') await this.#show(itemId, 'running');
    if (answer.decision === 'decline' && itemId !== null)
      this.#reader.decline(itemId, `declined: ${answer.reason ?? 'by the user'}`);
    return answer;
  }

  async #show(ref: string | null, status: 'pending' | 'running'): Promise<void> {
    if (ref !== null) await report(this.#sink, [{ type: 'tool', ref, change: { status } }]);
  }

  async #release(graceMs: number): Promise<void> {
    const { server } = this.#lease;
    this.#leaveWhenIdle();
    if (this.#running) this.#interrupt(this.#running);
    if (this.#at) {
      await within(Promise.race([this.free, server.gone]), graceMs, this.#options.clock);
    } else {
      this.#leave();
    }
    await this.#lease.release(graceMs);
    this.#gone.resolve('was stopped');
  }

  /** Ends the background commands of the thread and unsubscribes from it, so that another agent may have the thread. */
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
