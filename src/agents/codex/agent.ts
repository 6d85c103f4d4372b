import { once } from 'node:events';
import type { Session } from '../../api/sessions.ts';
import { newUuid } from '../../core/lib/ids.ts';
import type { AttachedTurn } from '../attached-turn.ts';
import { type OutputLine, OutputLines } from '../output-lines.ts';
import type { ReadPosition } from '../read-position.ts';
import { hasContent } from '../conversations.ts';
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
import { earlierDefaults } from '../session-settings.ts';
import { within } from '../agent-process.ts';
import type { Route } from './app-server.ts';
import type { Params, ServerRequest } from './connection.ts';
import { Reader } from './items.ts';
import { reachedLimit, Meter } from './usage.ts';
import {
  type CodexOptions,
  modeRefusedBy,
  objectionTo,
  readThread,
  threadParams,
  turnParams,
} from './settings.ts';
import { outcomeOf, readError, readRetry, turnIn } from './outcome.ts';
import { SessionRequests } from './session-requests.ts';
import type { Lease } from './shared-server.ts';
import {
  foreignTurn,
  type OwnThreadTurn,
  ownTurn,
  readSavedAgent,
  type SavedAgent,
  savedAgent,
  ThreadState,
  type ThreadTurn,
} from './thread-state.ts';
import { beginThread, isGone, isRefusal, whenFree } from './threads.ts';
import type { StoredInputItem } from '../../api/input.ts';

/** How codex says that there is nothing to interrupt. */
const NO_TURN_WORDS = /no active turn/i;
const RETIRED = 'was replaced by an agent with the new login';

/** One session: a thread of the app-server that all sessions share. */
export class CodexAgent implements Agent, Route {
  /** Empty until the thread is open. */
  ref = '';
  defaults: TurnSettings = defaultSettings();
  readonly canResume = true;
  isForked: boolean | undefined;
  readonly isLost = () => this.#state.isOver || this.#lease.server.isLost();
  readonly #gone = Promise.withResolvers<string>();
  readonly gone = this.#gone.promise;
  readonly #free = Promise.withResolvers<void>();
  readonly free = this.#free.promise;
  readonly lines: OutputLines;
  readonly output: OutputLines | null;
  readonly #session: Session;
  readonly #sink: AgentSink;
  readonly #lease: Lease;
  readonly #options: CodexOptions;
  readonly #reader = new Reader();
  readonly #meter = new Meter();
  readonly #requests: SessionRequests;
  readonly #state = new ThreadState();
  #settings: TurnSettings = this.defaults;
  /** Aborts when the newest prompt is cancelled. */
  #cancelling = new AbortController();
  #released: Promise<void> | undefined;
  /** The offset from which the output is read. */
  readonly #from: number;

  /** `from`: how far an earlier server has handled the output for the session. */
  constructor(
    session: Session,
    sink: AgentSink,
    lease: Lease,
    options: CodexOptions,
    from: ReadPosition | null = null,
  ) {
    this.#session = session;
    this.#sink = sink;
    this.#lease = lease;
    this.#options = options;
    const { connection, holder: child } = lease.server;
    this.#from = from?.at ?? connection.read;
    const own = { sink, child, keys: `${newUuid()}:`, save: () => this.#save() };
    this.lines = new OutputLines(own, from, connection.read);
    this.output = this.lines.outlives ? this.lines : null;
    this.#requests = new SessionRequests({
      sink,
      lines: this.lines,
      connection,
      reader: this.#reader,
      permissionMode: () => this.#settings.permissionMode,
      state: this.#state,
      onUnknown: options.onUnknown,
    });
    void lease.server.gone.then((how) => this.lost(how));
  }

  get pid(): number {
    return this.#lease.server.pid;
  }

  /** Starts a thread for the session, or resumes the one it has. Errors as in `Provider.open`. */
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
    for (
      let turn = this.#state.running;
      turn && !signal.aborted && !this.#state.isOver;
      turn = this.#state.running
    ) {
      this.#interrupt(turn);
      await Promise.race([turn.over.promise, cancelled, lost]);
    }
    if (signal.aborted) return { status: 'interrupted', error: null };
    if (this.#state.isOver) return lost;
    this.#settings = settings;
    const turn = ownTurn();
    this.lines.beginTurn();
    this.#state.moveTo({ is: 'starting', turn });
    this.#reader.begin();
    this.#meter.begin();
    return this.#untilEnded(turn, async () => {
      const { ref: threadId, defaults } = this;
      const { models, access } = this.#options;
      const params = await turnParams({ threadId, input, settings, defaults, models, access });
      const { server } = this.#lease;
      turn.own.start = server.connection.newId();
      return server.beginTurn(turn.own.start, params, this.lines);
    });
  }

  /**
   * Continues the turn that an earlier server has begun. All sessions of the app-server have to be attached in the tick in
   * which that was made. Throws {@link ProviderError} at once.
   */
  attach(ref: string, state: string, turn: AttachedTurn): Promise<TurnOutcome> {
    const saved = readSavedAgent(state);
    const { server } = this.#lease;
    this.ref = ref;
    this.defaults = earlierDefaults(this.#session) ?? this.defaults;
    this.#settings = turn.settings;
    server.join(ref, this);
    server.restore(ref, saved.server, this.#from);
    this.#reader.restore(saved.reader, turn.tools);
    this.#meter.restore(saved.meter);
    const own = this.#state.restore(saved.turn);
    const { start } = own.own;
    const begin = start === null ? null : () => server.beginTurn(start, null, this.lines);
    const outcome = this.#untilEnded(own, begin);
    if (turn.isInterrupted) this.cancel();
    server.connection.resend(turn.messages, (n) => this.lines.keyOf(n));
    for (const request of turn.requests) this.#requests.askAgain(request);
    return outcome;
  }

  /** Waits for the end of a turn. `begin` resolves with the answer to the request that begins it; null: it has come. */
  async #untilEnded(
    turn: OwnThreadTurn,
    begin: (() => Promise<unknown>) | null,
  ): Promise<TurnOutcome> {
    const lost = lostTurn(this.gone);
    try {
      const id = begin && turnIn(await begin());
      turn.own.start = null;
      if (begin && this.#state.at?.turn === turn) this.#beginTurn(id);
    } catch (error) {
      if (this.#state.at?.turn === turn) this.#rest(turn);
      if (this.#state.isOver) return lost;
      throw modeRefusedBy(error, this.#settings) ?? error;
    }
    return Promise.race([turn.own.outcome.promise, lost]);
  }

  cancel(): void {
    this.#cancelling.abort();
    if (this.#state.running) this.#interrupt(this.#state.running);
  }

  /** Leaves the thread; the server continues for the other sessions. A turn that does not end keeps the thread. */
  end(graceMs: number): Promise<void> {
    return (this.#released ??= this.#release(graceMs));
  }

  retire(): void {
    // A turn ends before that. Another server has to know.
    if (this.#state.at?.turn.own) this.#sink.rows?.savePosition();
    else this.lost(RETIRED);
  }

  /** Retires the agent. Its session continues in another agent. */
  lost(why: string): void {
    this.#state.leaveWhenIdle();
    this.#requests.withdrawAll();
    this.#gone.resolve(why);
    void this.end(0);
  }

  onNotification(method: string, params: Params, line: OutputLine): Promise<void> | undefined {
    switch (method) {
      case 'turn/started':
        this.#beginTurn(turnIn(params)).hasBegun = true;
        return undefined;
      case 'turn/completed':
        if (!this.#state.delaysEnd(params, line)) this.#finish(params);
        return undefined;
      case 'serverRequest/resolved':
        this.#requests.withdraw(params.requestId);
        return undefined;
      case 'error': {
        const own = this.#state.at?.turn.own;
        if (!own || this.#state.isLate(params)) return undefined;
        own.error = readError(params) ?? own.error;
        const retry = readRetry(params);
        return retry === null
          ? undefined
          : report(line, [{ type: 'notice', code: 'waiting', message: retry }]);
      }
      case 'thread/tokenUsage/updated':
        return this.#count(params, line);
      default:
        return this.#say(method, params, line);
    }
  }

  asked(request: ServerRequest, line: OutputLine): void {
    this.#requests.ask(request, line);
  }

  /** Returns the memory for another server. Null unless the agent waits for the end of a turn, and for nothing else. */
  #save(): SavedAgent | null {
    const turn = this.#state.save();
    const server = this.#lease.server.save(this.ref);
    return turn && savedAgent(turn, { reader: this.#reader, meter: this.#meter }, server);
  }

  async #begin(): Promise<void> {
    const { title, id, model } = this.#session;
    const params = { ...threadParams(this.#session, this.#options), model };
    const begun = await beginThread(this.#lease.server, params, this.#options.fork, this.#sink);
    this.isForked = begun.isForked;
    const thread = readThread(begun.opened);
    if (this.#state.isOver) return;
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
    const params = {
      ...threadParams(this.#session, this.#options),
      threadId: ref,
      excludeTurns: true,
      model,
    };
    const thread = readThread(await this.#ask('thread/resume', params));
    this.defaults = earlier ?? thread.settings;
    if (!thread.isActive) return;
    const turn = this.#state.running ?? foreignTurn();
    turn.hasBegun = true;
    this.#state.moveTo({ is: 'running', turn });
  }

  /** The thread is at a turn; `id` is null where codex has not named the turn. */
  #beginTurn(id: string | null): ThreadTurn {
    const turn = this.#state.at?.turn ?? foreignTurn();
    turn.id = turn.own ? (turn.id ?? id) : id;
    this.#state.moveTo({ is: 'running', turn });
    for (const { params, hold } of turn.own?.ends.splice(0) ?? [])
      if (!this.#finish(params)) hold[Symbol.dispose]();
    if (this.#state.running !== turn) return turn;
    // Codex has refused an interrupt that came before the turn had begun.
    if (this.#state.isOver || (this.#cancelling.signal.aborted && turn.own)) this.#interrupt(turn);
    return turn;
  }

  /** Ends the turn that the thread is at; false if it is another turn that has ended. */
  #finish(params: Params): boolean {
    const turn = this.#state.running;
    if (!turn || (turn.id !== null && turn.id !== turnIn(params))) return false;
    const error = turn.own?.error ?? null;
    const { login, clock, onEnded } = this.#options;
    const limit = () => reachedLimit(this.#lease.server.rateLimits, clock.now());
    turn.own?.outcome.resolve(onEnded(outcomeOf(params, error, login, limit)));
    this.#rest(turn);
    return true;
  }

  /** The thread is at no turn any more: a message that follows belongs to none, even before `prompt` has returned. */
  #rest(turn: ThreadTurn): void {
    if (turn.own) this.lines.endTurn();
    this.#state.moveTo(null);
    turn.over.resolve();
    if (this.#state.isOver) this.#leave();
    else if (turn.own && this.#lease.server.isRetired) this.lost(RETIRED);
  }

  /** Interrupts a turn. Codex refuses that where the turn has ended and cadre has missed the end. */
  #interrupt(turn: ThreadTurn): void {
    const { id } = turn;
    this.#ask('turn/interrupt', { threadId: this.ref, turnId: id ?? '' }).catch(
      (error: unknown) => {
        const isStillAt = this.#state.at?.turn === turn && turn.id === id;
        if (!isStillAt || !turn.hasBegun || !isRefusal(error, NO_TURN_WORDS)) return;
        turn.own?.outcome.resolve({ status: 'interrupted', error: null });
        this.#rest(turn);
      },
    );
  }

  async #say(method: string, params: Params, line: OutputLine): Promise<void> {
    if (this.#state.isOver || this.#state.isLate(params)) return;
    const updates = this.#reader.read(method, params);
    if (updates === 'unknown') this.#options.onUnknown();
    else await report(line, updates);
  }

  async #count(params: Params, line: OutputLine): Promise<void> {
    const usage = this.#meter.read(params);
    if (usage === 'unknown') return this.#options.onUnknown();
    // After a resume codex reports the usage of earlier turns again. It belongs to no turn of this agent.
    const turn = this.#state.at?.turn;
    if (turn?.own && turn.id !== null && turn.id === params.turnId && !this.#state.isOver)
      await report(line, [{ type: 'usage', usage }]);
  }

  async #release(graceMs: number): Promise<void> {
    const { server } = this.#lease;
    this.#state.leaveWhenIdle();
    if (this.#state.running) this.#interrupt(this.#state.running);
    if (this.#state.at) {
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
    return this.#lease.server.ask(method, params, this.lines);
  }
}
