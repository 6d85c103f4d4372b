import type { Session, Turn } from '../../../api/sessions.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { yieldToEventLoop, runSlice } from '../../../core/lib/slices.ts';
import type { TurnSettings } from '../../../agents/provider.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import { AgentStartRetries } from './agent-start-retries.ts';
import { type Holds, NO_AGENT } from './holds.ts';
import type { Scheduler } from './scheduler.ts';
import { InboxStore, type InboxEntry } from './store.ts';
import { beginTurn } from '../sessions/session.ts';
import { requestedSettings, settingsOf } from '../sessions/settings.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Trial } from '../sessions/try-agent.ts';
import { newTurn } from '../sessions/turn.ts';
import type { StoredInputItem } from '../../../api/input.ts';

/** The maximum input of one turn made of several entries, in bytes. The other entries become the next turn. */
const MAX_TURN_BYTES = 8 * 1024 * 1024;
/** The wait before the next turns of sessions are tried again that could not be stored, in ms. */
const RETRY_MS = 5000;

/** The owner of one kind of entry. Each method runs in the transaction that changes the entry. */
export interface InboxSource {
  /** Whether each of its entries becomes a turn of its own; otherwise those that wait together become one. */
  readonly isAlone?: boolean;
  /** Returns the input for the session's agent, the source of the turn, and settings that the turn has of its own. */
  content(rx: Reader, entry: InboxEntry): Content;
  injecting?(tx: Writer, ref: string, turn: Turn): void;
  /** Called when the turn of the entry has started. From now on an agent may have seen the entry. */
  injected?(tx: Writer, ref: string, turn: Turn): void;
  /** Called if the turn of the entry ended before an agent saw it. Returns whether the entry stays in the inbox. */
  deferred(tx: Writer, ref: string, turn: Turn): boolean;
  /** Called when the turn of the entry has ended after its start. Returns whether the entry stays for another turn. */
  ended?(tx: Writer, ref: string, turn: Turn): boolean;
  /** Called when the session of the entry was closed or has failed. Returns whether the entry stays in the inbox. */
  unreachable(tx: Writer, ref: string, session: Session): boolean;
  /** Called when the session of an entry that stayed was brought back. */
  reachable?(tx: Writer, ref: string): void;
}

/** A session whose next turn is to be tried. `hasWaited`: its wait for another try to get an agent is over. */
interface Due {
  sessionId: string;
  hasWaited: boolean;
}

interface Content {
  source: Turn['source'];
  input: readonly StoredInputItem[];
  settings?: Partial<Pick<Turn, 'permission_mode' | 'agent_mode' | 'model' | 'thinking_effort'>>;
}

interface InboxDeps extends Pick<ServerParts, 'db' | 'clock' | 'ids' | 'logger'> {
  sessionStore: SessionStore;
  holds: Holds;
  scheduler: Scheduler;
}

interface InboxRunner {
  accepted: (tx: Writer, session: Session, turn: Turn) => void;
  requestInterrupt: (tx: Writer, turn: Turn, error: Turn['error']) => Turn;
  /** Starts the agent that a turn with such settings would need, without a turn. It never rejects. */
  tryAgent: (session: Session, settings: TurnSettings) => Promise<Trial>;
}

/**
 * The queue of everything that is to become a turn of a session: by rank, then oldest first, unless people have changed
 * the order. All entries that wait for an idle session become one turn, unless the entries of an owner are turns of
 * their own. Every decision is taken from the rows in a transaction; timers and starts follow
 * once it is on disk.
 */
export class Inbox {
  readonly holds: Holds;
  readonly entries: InboxStore;
  readonly #deps: InboxDeps;
  readonly #owners = new Map<string, InboxSource>();
  readonly #startRetries: AgentStartRetries;
  #runner: InboxRunner | undefined;
  /** False before the server listens and once it stops. No entry becomes a turn then. */
  #isOpen = false;
  /** Sessions for which {@link beginNextTurn} is to be tried again. */
  #due: Due[] = [];
  #isWorking = false;

  constructor(deps: InboxDeps) {
    this.#deps = deps;
    this.holds = deps.holds;
    this.entries = new InboxStore(deps.db);
    this.#startRetries = new AgentStartRetries({ ...deps, inbox: this });
    deps.scheduler.register({
      due: (rx) => this.holds.nextEnd(rx),
      act: (signal) => this.#endPastHolds(signal),
    });
  }

  /** Connects the runner of turns, which is built after the inbox. Must be called before {@link open}. */
  connect(runner: InboxRunner): void {
    this.#runner = runner;
  }

  /** Registers the owner of entries by its name. Must be called before the first `put` of that owner. */
  register(name: string, owner: InboxSource): void {
    this.#owners.set(name, owner);
  }

  /** Whether an entry for the session would become a turn at once. */
  isFree(rx: Reader, sessionId: string): boolean {
    const session = this.#deps.sessionStore.sessions.get(rx, sessionId);
    return session?.status === 'ready' && this.holds.of(rx, sessionId).length === 0;
  }

  /**
   * Makes one turn of the entries that wait for a session, if the session is idle and has no hold. This is the one place
   * that decides whether a turn of the inbox may start: everything that is to prevent it is a {@link Holds hold}.
   */
  beginNextTurn(tx: Writer, sessionId: string): void {
    const { sessionStore, clock, ids } = this.#deps;
    if (!this.#isOpen || !this.isFree(tx, sessionId)) return;
    const entries = this.#next(tx, sessionId);
    const [first] = entries;
    if (!first || this.holds.holdNow(tx, sessionId)) return;
    const turn = newTurn({
      turn_id: ids.next('turn'),
      session_id: sessionId,
      source: first.source,
      input: entries.flatMap(({ input }) => input),
      accepted_at: clock.now(),
      ...first.settings,
    });
    const session = sessionStore.session(tx, sessionId);
    sessionStore.acceptTurn(tx, beginTurn(session, turn, turn.accepted_at), turn);
    for (const { entry } of entries) {
      this.entries.assign(tx, entry, turn);
      this.#ownerOf(entry).injecting?.(tx, entry.ref, turn);
    }
    this.#turns.accepted(tx, session, turn);
  }

  /** Lets entries become turns from now on. A start of the server ends every wait for an agent. */
  async open(): Promise<void> {
    this.#isOpen = true;
    const due = await this.#deps.db.transact((tx) => {
      this.holds.endWaits(tx);
      return this.entries.sessionsWithEntries(tx);
    });
    this.#push(due);
    this.#startRetries.open();
    await this.#beginDueTurns();
  }

  /** Must be called when a client has sent a turn. Ends what {@link endHold} ends. */
  turnSent(tx: Writer, turn: Turn): void {
    this.entries.turnSent(tx, turn);
    this.endHold(tx, turn.session_id);
  }

  /** Must be called when an agent is about to see a turn. Ends the wait of the session for an agent. */
  turnStarted(tx: Writer, turn: Turn): void {
    this.holds.endWait(tx, turn.session_id);
    for (const entry of this.entries.ofTurn(tx, turn.turn_id))
      this.#ownerOf(entry).injected?.(tx, entry.ref, turn);
  }

  /** Must be called when a turn has ended. Its entries wait again if no agent has seen them. */
  turnEnded(
    tx: Writer,
    turn: Turn,
    { isUnseen = turn.started_at === null, isLast = false } = {},
  ): void {
    const entries = this.entries.ofTurn(tx, turn.turn_id);
    this.holds.turnEnded(tx, turn, { isRetried: isUnseen && entries.length > 0, isLast });
    for (const entry of entries) {
      const owner = this.#ownerOf(entry);
      const stays = isUnseen
        ? owner.deferred(tx, entry.ref, turn)
        : owner.ended?.(tx, entry.ref, turn);
      if (stays) this.entries.putBack(tx, entry, turn);
      else this.entries.remove(tx, entry.owner, entry.ref);
    }
    const isRefused = isUnseen && turn.status === 'failed';
    if (isRefused && entries.length > 0) this.#startRetries.turnFailed(tx, turn);
  }

  /** Gives up the entries of a session that was closed or has failed. Its turn must have ended before. */
  giveUp(tx: Writer, session: Session): void {
    for (const entry of this.entries.waitingFor(tx, session.id))
      if (!this.#ownerOf(entry).unreachable(tx, entry.ref, session))
        this.entries.remove(tx, entry.owner, entry.ref);
    if (session.status === 'closed') return this.holds.forget(tx, session.id);
    this.holds.endPause(tx, session.id);
    this.holds.end(tx, session.id, NO_AGENT);
  }

  /** Must be called when a failed session was brought back. Its entries become turns again. */
  takeBack(tx: Writer, sessionId: string): void {
    for (const entry of this.entries.waitingFor(tx, sessionId))
      this.#ownerOf(entry).reachable?.(tx, entry.ref);
    this.beginNextTurn(tx, sessionId);
  }

  /** Ends the pause of a session, also of one that no agent could be started for: somebody wants its next turn. */
  endHold(tx: Writer, sessionId: string): void {
    this.holds.endPause(tx, sessionId);
    this.#startRetries.lift(tx, sessionId);
  }

  interruptNow(tx: Writer, sessionId: string): void {
    const turn = this.#deps.sessionStore.activeTurn(tx, sessionId);
    if (turn) this.interrupt(tx, turn);
  }

  /** Interrupts a turn. `error`: why, if the interrupt is not a person's. */
  interrupt(tx: Writer, turn: Turn, error: Turn['error'] = null): void {
    this.#turns.requestInterrupt(tx, turn, error);
  }

  /**
   * Interrupts the active turn of a session if an entry wants that, no tool runs and no approval is pending. Must be
   * called whenever a tool has ended or an approval was resolved.
   */
  atBoundary(tx: Writer, sessionId: string): void {
    if (!this.#isOpen || !this.entries.wantsInterrupt(tx, sessionId)) return;
    const turn = this.#deps.sessionStore.activeTurn(tx, sessionId);
    if (!turn || turn.interrupt_requested_at !== null) return;
    const { sessionStore } = this.#deps;
    const mustWait =
      sessionStore.pendingApprovals(tx, turn.turn_id).length > 0 ||
      sessionStore.openItems(tx, turn.turn_id).some(({ kind }) => kind === 'tool');
    if (!mustWait) this.interrupt(tx, turn);
  }

  /** Tries all sessions that something waits for, once the transaction is on disk: what held several of them is over. */
  wake(tx: Writer): void {
    tx.whenDurable(() => {
      if (!this.#isOpen) return;
      this.#push(this.#deps.db.peek((rx) => this.entries.sessionsWithEntries(rx)));
      void this.#beginDueTurns();
    });
  }

  /** Leaves the entries for the next start of the server. */
  stop(): void {
    this.#isOpen = false;
    this.#startRetries.stop();
  }

  #next(rx: Reader, sessionId: string) {
    const entries: ({ entry: InboxEntry } & Content)[] = [];
    let bytes = 0;
    for (const entry of this.entries.nextFor(rx, sessionId)) {
      const owner = this.#ownerOf(entry);
      if (owner.isAlone === true && entries.length > 0) break;
      const content = owner.content(rx, entry);
      if (owner.isAlone === true) return [{ entry, ...content }];
      bytes += Buffer.byteLength(JSON.stringify(content.input));
      if (bytes > MAX_TURN_BYTES && entries.length > 0) break;
      entries.push({ entry, ...content });
    }
    return entries;
  }

  /** Tries to get the agent of the next turn, unless something else holds the session anyway. */
  async tryAgent(sessionId: string): Promise<Trial> {
    const { db, sessionStore } = this.#deps;
    const next = db.peek((rx) => ({
      session: sessionStore.session(rx, sessionId),
      isHeld: this.holds.of(rx, sessionId).some(({ code }) => code !== NO_AGENT),
      first: this.#next(rx, sessionId)[0],
    }));
    if (!next.first) return { is: 'ready' };
    if (next.isHeld || next.session.status !== 'ready') return { is: 'later' };
    const settings = settingsOf(next.session, requestedSettings(next.first.settings ?? {}));
    return this.#turns.tryAgent(next.session, settings);
  }

  tryLater(sessionId: string): void {
    this.#due.push({ sessionId, hasWaited: true });
    void this.#beginDueTurns();
  }

  #push(sessionIds: readonly string[]): void {
    for (const sessionId of sessionIds) this.#due.push({ sessionId, hasWaited: false });
  }

  /** Works through the due sessions in slices, yielding to the event loop between them. Never rejects. */
  async #beginDueTurns(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    for (let due = this.#due; this.#isOpen && due.length > 0; due = this.#due) {
      this.#due = [];
      await this.#beginTurnsOf(due);
    }
    this.#isWorking = false;
  }

  /** Each session has a transaction of its own, so that a damaged row keeps no other session waiting. */
  async #beginTurnsOf(sessions: readonly Due[]): Promise<void> {
    const { db, clock, logger } = this.#deps;
    const failed: Due[] = [];
    let reason: unknown;
    const begin = async (due: Due) => {
      try {
        await db.transact((tx) => {
          // The timer has waited long enough, also where the wall clock was set back meanwhile.
          if (due.hasWaited) this.holds.expireWait(tx, due.sessionId);
          this.beginNextTurn(tx, due.sessionId);
        });
      } catch (error) {
        failed.push(due);
        reason ??= error;
      }
    };
    for (let at = 0; at < sessions.length && this.#isOpen;) {
      const begun: Promise<void>[] = [];
      at = runSlice(clock, sessions, at, (due) => void begun.push(begin(due)));
      await Promise.all(begun);
      if (at < sessions.length) await yieldToEventLoop();
    }
    if (failed.length === 0 || !this.#isOpen) return;
    logger.error(
      { err: reason, sessions: failed.length },
      'cannot start the next turn of an inbox',
    );
    clock.after(RETRY_MS, () => {
      this.#due.push(...failed);
      void this.#beginDueTurns();
    });
  }

  async #endPastHolds(signal: AbortSignal): Promise<void> {
    for (let isMore = true; isMore && !signal.aborted;)
      isMore = await this.#deps.db.transact((tx) => {
        const sessions = this.holds.endPast(tx);
        for (const id of sessions) this.beginNextTurn(tx, id);
        return sessions.length > 0;
      });
  }

  get #turns(): InboxRunner {
    if (!this.#runner) throw new Error('the inbox has no runner of turns');
    return this.#runner;
  }

  #ownerOf({ owner }: InboxEntry): InboxSource {
    const found = this.#owners.get(owner);
    if (!found) throw new Error(`an inbox entry has the owner "${owner}", which is not registered`);
    return found;
  }
}
