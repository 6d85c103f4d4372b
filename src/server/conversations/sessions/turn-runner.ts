import type { Session, Turn } from '../../../api/sessions.ts';
import {
  type Agent,
  type AgentAnswer,
  type AgentRequest,
  type AgentSink,
  ProviderError,
  type TurnOutcome,
  type TurnSettings,
} from '../../../agents/provider.ts';
import type { RequestOrigin } from '../../../agents/read-position.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { persist } from '../../../core/store/persist.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import type { AgentPool } from './agent-pool.ts';
import type { ApprovalBroker } from '../approvals/approval-broker.ts';
import {
  beginTurnInRows,
  changeAgentInRows,
  cancelApprovals,
  endTurnInRows,
  outcomeOf,
  failSessionInRows,
} from './turn-rows.ts';
import type { SessionObserver } from './observer.ts';
import type { AgentOutputs } from './outputs.ts';
import { surviveMs, type TakenTurn } from './attach-turn.ts';
import {
  type AtTurn,
  atTurn,
  canBegin,
  INTERRUPT_MS,
  isUnseen,
  type LiveAgent,
  optionsOf,
  OVER,
  promptOf,
  type RunningTurn,
  RunningTurns,
  stopped,
  storageFailure,
  type TimeLimitDeps,
  turnTimeLimit,
  useGrant,
} from './running-turn.ts';
import { settingsOf } from './settings.ts';
import { offered, type Trial, tryAgent, failureOf } from './try-agent.ts';
import { hasEnded } from './turn.ts';
import type { StoredInputItem } from '../../../api/input.ts';

const STOPPING = new Error('the server is stopping');

interface TurnRunnerDeps extends TimeLimitDeps, Pick<ServerParts, 'log' | 'ids' | 'failpoint'> {
  pool: AgentPool;
  withModeOfTurn: (session: Session, mode: TurnSettings['permissionMode']) => Session;
  broker: ApprovalBroker;
  inbox: Inbox;
  outputs: AgentOutputs;
  observer: SessionObserver;
  imports: { prepare: (session: Session, signal: AbortSignal) => Promise<void> };
  /** Returns the record of the history that the next prompt of a forked session contains. */
  recordFor: (sessionId: string) => readonly StoredInputItem[];
  /** Runs in the transaction that ends a turn, before the next one of its session begins. */
  limits: { turnDone: (tx: Writer, turn: Turn, outcome: TurnOutcome) => void };
}

/** Runs turns on live agents. Every decision about a turn is taken from its rows, never from the state in memory. */
export class TurnRunner {
  readonly #deps: TurnRunnerDeps;
  readonly #running: RunningTurns;
  readonly #stopping = new AbortController();
  #isLeaving = false;

  constructor(deps: TurnRunnerDeps) {
    this.#deps = deps;
    this.#running = new RunningTurns({ ...deps, stopping: this.#stopping.signal });
    deps.inbox.connect(this);
  }

  /** Runs a turn once its transaction is on disk. With an idle agent it begins in the same one, without a second wait. */
  accepted(tx: Writer, session: Session, turn: Turn): void {
    const live = this.#deps.pool.findIdle(turn.session_id);
    const isBegun = !this.#stopping.signal.aborted && canBegin(live, session, turn);
    if (isBegun) beginTurnInRows(tx, turn, live.agent, this.#deps);
    tx.whenDurable(() => this.start(turn, isBegun ? live.agent : undefined));
  }

  /** Runs a turn in the background. `begunFor`: the agent with which its beginning is stored already. */
  start(turn: Turn, begunFor?: Agent): void {
    if (this.#stopping.signal.aborted && !begunFor) return;
    this.#running.run(turn, begunFor, (running, cut) => this.#run(turn, running, cut));
  }

  /** Continues a turn in the background whose agent an earlier server has started. */
  attach(left: TakenTurn): void {
    this.#running.run(left.turn, undefined, (running, cut) => this.#continue(left, running, cut));
  }

  /**
   * Ends a turn: cancels its approvals and closes its open items. Returns the ended turn; a second end is ignored. The
   * waiting entries of the session's inbox become the next turn, unless `isLast` says that the session ends too. Once
   * the transaction is on disk, the agent's pending requests are cancelled and the wait for the agent ends. If the
   * transaction is lost, the turn continues.
   */
  endNow(tx: Writer, turn: Turn, outcome: TurnOutcome, { isLast = false } = {}): Turn {
    if (hasEnded(turn)) {
      this.#deps.logger.warn(
        { turn_id: turn.turn_id, status: outcome.status },
        'ignored a second end of a turn',
      );
      return turn;
    }
    const output = this.#running.find(turn.turn_id)?.output;
    const isWhole = !(output?.broken && outcome.status === 'completed');
    const stored = isWhole ? outcome : storageFailure(new Error('a write to the disk failed'));
    const { ended } = endTurnInRows(tx, turn, stored, this.#deps, output);
    tx.whenDurable(() => this.#cleanUp(ended));
    const isSkipped = isUnseen(ended, this.#running.find(ended.turn_id));
    this.#deps.inbox.turnEnded(tx, ended, { isUnseen: isSkipped, isLast });
    this.#deps.limits.turnDone(tx, ended, stored);
    if (!isLast) this.#deps.inbox.beginNextTurn(tx, ended.session_id);
    return ended;
  }

  /** Cancels the agent's pending requests and ends the wait for the agent. Runs once the turn's end is on disk. */
  #cleanUp({ turn_id }: Turn): void {
    const running = this.#running.find(turn_id);
    this.#deps.broker.cancelRequests(turn_id);
    running?.over.abort(OVER);
    running?.cutShort({ status: 'interrupted', error: null });
  }

  /**
   * Stores the interrupt of a turn; `error` is the turn's error if the interrupt is not a person's. Once that is on
   * disk, the agent is asked to end the turn, and is killed if it does not. A turn that no agent has seen ends at once.
   */
  requestInterrupt(tx: Writer, turn: Turn, error: Turn['error'] = null): Turn {
    const { store, clock } = this.#deps;
    if (hasEnded(turn)) return turn;
    if (turn.interrupt_requested_at === null) {
      const interrupted = { ...turn, interrupt_requested_at: clock.now(), error };
      store.moveTurn(
        tx,
        store.session(tx, turn.session_id),
        interrupted,
        'turn.interrupt_requested',
      );
      cancelApprovals(tx, interrupted, 'the turn was interrupted', this.#deps);
    }
    const now = store.turn(tx, turn.session_id, turn.turn_id);
    if (now.provider_turn_ref === null)
      return this.endNow(tx, now, { status: 'interrupted', error });
    tx.whenDurable(() => this.#interrupt(now));
    return now;
  }

  /** Asks the agent of a turn to end the turn, and kills the agent if it does not do so in time. */
  #interrupt(turn: Turn): void {
    const { clock, broker, pool } = this.#deps;
    const running = this.#running.find(turn.turn_id);
    broker.cancelRequests(turn.turn_id);
    if (!running) return;
    running.interrupting = true;
    // A turn that has begun, and whose agent is gone or was not found yet, is not sent to one any more.
    if (!running.live) return;
    const { live } = running;
    live.agent.cancel();
    const kill = clock.after(INTERRUPT_MS, () => {
      running.cutShort({ status: 'interrupted', error: null });
      void pool.end(turn.session_id, 0);
    });
    void running.done.finally(() => kill[Symbol.dispose]());
  }

  get active(): number {
    return this.#running.active.length;
  }

  /** Leaves the turns that another server can continue. Returns the processes of their agents. */
  leaveTurns(): ReadonlySet<number | null> {
    this.#stopping.abort(STOPPING);
    this.#isLeaving = true;
    const { outputs, pool } = this.#deps;
    const left = this.#running.leaveContinuable(outputs.unprompted());
    for (const live of left) pool.leave(live);
    return new Set(left.map(({ agent }) => agent.pid));
  }

  /**
   * Gives running turns `drainMs` (or until `hurry` aborts) to finish, then interrupts the rest and ends the agents.
   * Turns that no agent has seen, and turns that wait for an approval, are left for the next start.
   */
  async stop(drainMs: number, hurry: AbortSignal): Promise<void> {
    const { pool, broker } = this.#deps;
    this.#stopping.abort(STOPPING);
    await this.#running.drain(drainMs, hurry);
    broker.close();
    const rest = this.#running.active;
    for (const turn of rest) turn.cutShort(stopped);
    await Promise.all(rest.map(({ done }) => done));
    this.#running.leaveAll();
    await (hurry.aborted ? pool.endAll(0) : pool.endAll());
  }

  async #run(turn: Turn, running: RunningTurn, cut: Promise<TurnOutcome>): Promise<void> {
    const { db, store, failpoint } = this.#deps;
    if (!running.begunFor) failpoint('turn.accepted');
    const session = db.peek((rx) => store.session(rx, turn.session_id));
    const signal = AbortSignal.any([running.over.signal, this.#stopping.signal]);
    let live = await this.#agentFor(session, turn, running, signal);
    if (!live) return;
    const output = this.#deps.outputs.open(session, turn, optionsOf(running));
    const prompt = promptOf(turn, running, this.#deps);
    const before = this.#deps.observer.beforeTurn?.(session, turn, signal) ?? null;
    if (before !== null) await before;
    // The start is on disk before the agent sees the turn.
    if (!(await this.#begin(turn, live, running))) return;
    if (live.agent.isLost() && !running.interrupting) {
      // Nothing was sent to the agent, so another may have the turn. A second loss fails it: agents may end at every start.
      live = await this.#agentFor(session, turn, running, signal);
      if (!live || !(await this.#begin(turn, live, running))) return;
    }
    failpoint('turn.started');
    atTurn(turn, { running, live, output });
    running.isPrompted = !running.interrupting;
    const { agent } = live;
    const whole = () => [...this.#deps.recordFor(session.id), ...prompt];
    const ended = () => agent.prompt(whole(), settingsOf(session, turn));
    if (!running.interrupting) running.answered = this.#withinLimit(turn, ended);
    const interrupted = { status: 'interrupted' as const, error: null };
    const outcome = await Promise.race([running.answered ?? interrupted, cut]);
    await this.#settle({ session, turn }, { running, live, output }, outcome);
  }

  async #continue(left: TakenTurn, running: RunningTurn, cut: Promise<TurnOutcome>): Promise<void> {
    const { turn } = left;
    const { outputs, broker, pool, clock, failpoint } = this.#deps;
    const { output, attached } = outputs.reopen(left, optionsOf(running), broker);
    running.output = output;
    try {
      const { live, outcome } = pool.adopt(left, attached, (one) => {
        atTurn(turn, { running, live: one, output });
        return this.#sinkOf(one);
      });
      failpoint('turn.attached');
      if (turn.interrupt_requested_at !== null) this.#interrupt(turn);
      using _proven = clock.after(surviveMs(left), () => void output.store());
      running.answered = this.#withinLimit(turn, () => outcome, { since: turn.started_at });
      const ended = await Promise.race([running.answered, cut]);
      await this.#settle(left, { running, live, output }, ended);
    } catch (error) {
      await this.#failUnseen(turn, error);
    }
  }

  /** Stores the end of a turn that its agent has ended, or that was cut short. */
  async #settle(
    { session, turn }: { session: Session; turn: Turn },
    { running, live, output }: AtTurn,
    outcome: TurnOutcome,
  ): Promise<void> {
    const { db, store, failpoint } = this.#deps;
    live.output = undefined;
    if (running.left) return;
    failpoint('turn.ending');
    if (output.broken) this.#running.silence(turn, running, live);
    const now = db.peek((rx) => store.turn(rx, turn.session_id, turn.turn_id));
    await output.closeTools(outcomeOf(now, outcome).status);
    await this.#persist(turn, (tx) =>
      this.endNow(tx, store.turn(tx, turn.session_id, turn.turn_id), outcome),
    );
    this.#deps.observer.afterTurn?.(session, turn);
  }

  /** Starts the agent that a turn with some settings needs, without a turn. */
  tryAgent(session: Session, settings: TurnSettings): Promise<Trial> {
    const { signal } = this.#stopping;
    const start = async () => {
      await this.#deps.imports.prepare(session, signal);
      return this.#deps.pool.tryStart(session, (one) => this.#sinkOf(one), signal);
    };
    return tryAgent(start, settings, signal);
  }

  #sinkOf(live: LiveAgent): AgentSink {
    const { id } = live.session;
    return this.#deps.outputs.sinkFor(live, (...asked) => this.ask(id, ...asked));
  }

  /** Leases an agent for a turn, which has ended or is left where this resolves with undefined. */
  async #agentFor(
    session: Session,
    turn: Turn,
    running: RunningTurn,
    signal: AbortSignal,
  ): Promise<LiveAgent | undefined> {
    const settings = settingsOf(session, turn);
    running.live = undefined;
    try {
      await this.#deps.imports.prepare(session, signal);
      const wait = this.#deps.outputs.waitNotice(turn);
      const now = this.#deps.withModeOfTurn(session, settings.permissionMode);
      const live = await this.#deps.pool.lease(now, (one) => this.#sinkOf(one), signal, wait);
      running.live = live;
      await offered(live.agent, settings, signal);
      await this.#deps.outputs.closeAside(live);
      return live;
    } catch (error) {
      await (signal.aborted ? this.#leave(turn, running) : this.#failUnseen(turn, error));
      return undefined;
    }
  }

  /** Interrupts a turn whose time is over. Resolves with a failure if `work` rejects. */
  async #withinLimit(
    { session_id, turn_id }: Turn,
    work: () => Promise<TurnOutcome>,
    { since = null }: { since?: number | null } = {},
  ): Promise<TurnOutcome> {
    const limited = { session_id, turn_id, since };
    using _limit = turnTimeLimit(this.#deps, limited, (...late) => this.requestInterrupt(...late));
    try {
      return await work();
    } catch (error) {
      return { status: 'failed', error: failureOf(error) };
    }
  }

  /** Stores that the agent is about to see the turn. Resolves with false if the turn has ended or the server stops. */
  async #begin(turn: Turn, { agent }: LiveAgent, running: RunningTurn): Promise<boolean> {
    const { db, store } = this.#deps;
    const stored = (rx: Reader) => store.turn(rx, turn.session_id, turn.turn_id);
    const { signal } = running.over;
    const isOpen = (now: Turn) => !hasEnded(now) && !signal.aborted && !this.#isLeaving;
    if (running.begunFor === agent) return isOpen(db.peek(stored));
    let begun = false;
    const isStored = await this.#persist(turn, (tx) => {
      const now = stored(tx);
      begun = isOpen(now);
      if (!begun) return;
      if (running.begunFor) changeAgentInRows(tx, now, agent, store);
      else beginTurnInRows(tx, now, agent, this.#deps);
    });
    if (isStored && begun) running.begunFor = agent;
    return isStored && begun;
  }

  /** Opens an approval in the active turn and waits for the answer: `cancelled` without such a turn. Throws `too_many`. */
  async ask(
    sessionId: string,
    request: AgentRequest,
    withdrawn: AbortSignal,
    origin?: RequestOrigin,
  ): Promise<AgentAnswer> {
    const { db, store, broker } = this.#deps;
    const turnId = db.peek((rx) => store.sessions.get(rx, sessionId)?.active_turn_id);
    const running = turnId ? this.#running.find(turnId) : undefined;
    if (!turnId || !running) return { decision: 'cancelled' };
    const granted = useGrant(running, (one) => broker.isSame(one, request));
    if (granted) return granted;
    return broker.ask({ sessionId, turnId, origin, output: running.output }, request, withdrawn);
  }

  /** Stores a change of a turn, and retries until it is stored. Resolves with false if the server stops before. */
  #persist({ turn_id }: Turn, move: (tx: Writer) => void): Promise<boolean> {
    return persist(this.#deps, this.#stopping.signal, { turn_id }, move);
  }

  /** Gives up the wait for an agent. The next start runs the turn, unless its beginning is stored: then it ends. */
  async #leave(turn: Turn, { begunFor, over }: RunningTurn): Promise<void> {
    if (!begunFor || over.signal.aborted) return;
    const { store } = this.#deps;
    await this.#persist(turn, (tx) =>
      this.endNow(tx, store.turn(tx, turn.session_id, turn.turn_id), stopped),
    );
  }

  /** Fails a turn that no agent has seen, and its session too if the provider no longer has it. */
  async #failUnseen(turn: Turn, error: unknown): Promise<void> {
    const { store, logger } = this.#deps;
    const failure = failureOf(error);
    const isLast = failure.code === 'resume_failed';
    // A refusal of a provider is not a bug of the server, so its stack has no information.
    const why =
      error instanceof ProviderError
        ? { reason: error.message, cause: String(error.cause) }
        : { err: error };
    const { turn_id, session_id } = turn;
    logger.warn({ ...why, turn_id, session_id }, 'cannot start a turn');
    await this.#persist(turn, (tx) => {
      const now = store.turn(tx, session_id, turn_id);
      this.endNow(tx, now, { status: 'failed', error: failure }, { isLast });
      if (!isLast) return;
      failSessionInRows(tx, session_id, failure, this.#deps);
      this.#deps.observer.failed?.(tx, session_id);
    });
  }
}
