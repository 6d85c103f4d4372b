import type { Session, StoredInputItem, Turn } from '../api/sessions.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { yieldToEventLoop, runSlice } from '../lib/slices.ts';
import type { Database } from '../store/database.ts';
import { InboxStore, type InboxEntry, type NewEntry } from './inbox-store.ts';
import { beginTurn } from './session.ts';
import type { SessionStore } from './store.ts';
import { newTurn } from './turn.ts';

/** What no agent could be had for is tried again after so long, doubled up to the second number. */
const RETRY_MS = 1000;
const MAX_RETRY_MS = 300_000;
/** One turn takes in so much; what is left is the next one. */
const MAX_TURN_BYTES = 8 * 1024 * 1024;

/** Whose entries they are. Everything here runs inside the transaction that moves the entry. */
export interface InboxOwner {
  /** What the session is to be told, and as what kind of turn. */
  words(entry: InboxEntry): { source: Turn['source']; input: StoredInputItem[] };
  /** It is part of a turn that was accepted. */
  injecting(ref: string, turn: Turn): void;
  /** Its turn has started: the agent may have seen it. */
  injected(ref: string, turn: Turn): void;
  /** Its turn ended before it started: no agent has seen it. Answers whether it goes on waiting. */
  deferred(ref: string, turn: Turn): boolean;
  /** Its turn has ended, after it had started. */
  over(ref: string, turn: Turn): void;
  /** Its session was closed, or has failed. Answers whether it goes on waiting. */
  unreachable(ref: string, session: Session): boolean;
}

interface Dependencies {
  db: Database;
  sessionStore: SessionStore;
  clock: Clock;
  ids: Ids;
  logger: Logger;
  /** Runs a turn that was accepted. */
  start: (turn: Turn) => void;
  /** Stores that a turn is to end, in the running transaction. */
  requestInterrupt: (turn: Turn) => Turn;
  /** Asks the agent of a turn to end it, once that is on disk. */
  interrupt: (turn: Turn) => void;
}

/**
 * Everything that waits to become a turn of its session, and when it does: by rank, then first come first served;
 * all that waits for an idle session becomes one turn. The rows are the truth; a timer or a start only follows
 * from them. Every method but `open` and `stop` belongs inside a transaction.
 */
export class Inbox {
  readonly #given: Dependencies;
  readonly #store: InboxStore;
  readonly #owners = new Map<string, InboxOwner>();
  /** Until the server listens, and from when it stops, nothing becomes a turn. */
  #isOpen = false;
  /** Sessions whose inbox is to be looked into again, and the work on them. */
  #due: string[] = [];
  #isLooking = false;

  constructor(given: Dependencies) {
    this.#given = given;
    this.#store = new InboxStore(given.db);
  }

  /** Names who answers for entries. Before anything is put. */
  register(name: string, owner: InboxOwner): void {
    this.#owners.set(name, owner);
  }

  /** Keeps an entry until its turn comes; one that is there waits as it is, no longer held. */
  put(entry: NewEntry): void {
    this.#store.put(entry);
  }

  /** Takes an entry back that waits. */
  remove(owner: string, ref: string): void {
    this.#store.remove(owner, ref);
  }

  /** Whether something for the session would be its turn at once. */
  isFree(sessionId: string): boolean {
    const session = this.#given.sessionStore.sessions.get(sessionId);
    return session?.status === 'ready' && !this.isPaused(sessionId);
  }

  /** Whether a session is left alone: it was stopped, or no agent could be had for it just now. */
  isPaused(sessionId: string): boolean {
    const pause = this.#store.pause(sessionId);
    return pause !== undefined && (pause.until === null || pause.until > this.#given.clock.now());
  }

  /** What waits for a session becomes its turn, if it is idle and nothing says to leave it alone. */
  look(sessionId: string): void {
    const { db, sessionStore, clock, ids, start } = this.#given;
    if (!this.#isOpen || !this.isFree(sessionId)) return;
    const entries = this.#next(sessionId);
    const [first] = entries;
    if (!first) return;
    const turn = newTurn({
      turn_id: ids.next('turn'),
      session_id: sessionId,
      source: first.source,
      input: entries.flatMap(({ input }) => input),
      accepted_at: clock.now(),
    });
    sessionStore.acceptTurn(
      beginTurn(sessionStore.session(sessionId), turn, turn.accepted_at),
      turn,
    );
    for (const { entry } of entries) {
      this.#store.assign(entry, turn.turn_id);
      this.#ownerOf(entry).injecting(entry.ref, turn);
    }
    db.whenDurable(() => start(turn));
  }

  /** From now on what waits becomes turns; a start ends all waiting for a better time. */
  async open(): Promise<void> {
    this.#isOpen = true;
    await this.#given.db.transact(() => {
      this.#store.endBackOffs();
      this.#due.push(...this.#store.waitedFor());
    });
    await this.#lookIntoDue();
  }

  /** A turn is about to be seen by its agent. */
  turnStarted(turn: Turn): void {
    this.#store.endBackOff(turn.session_id);
    for (const entry of this.#store.ofTurn(turn.turn_id))
      this.#ownerOf(entry).injected(entry.ref, turn);
  }

  /** A turn has ended. What no agent has seen of it waits again. */
  turnEnded(turn: Turn): void {
    const entries = this.#store.ofTurn(turn.turn_id);
    for (const entry of entries) {
      const owner = this.#ownerOf(entry);
      if (turn.started_at !== null) {
        this.#store.remove(entry.owner, entry.ref);
        owner.over(entry.ref, turn);
      } else if (owner.deferred(entry.ref, turn)) this.#store.assign(entry, null);
      else this.#store.remove(entry.owner, entry.ref);
    }
    const isUnseen = turn.started_at === null && turn.status === 'failed';
    if (isUnseen && entries.length > 0) this.#backOff(turn.session_id);
  }

  /** Nothing more becomes a turn of a session that was closed or has failed. Its turn has ended before. */
  giveUp(session: Session): void {
    for (const entry of this.#store.waitingFor(session.id))
      if (!this.#ownerOf(entry).unreachable(entry.ref, session))
        this.#store.remove(entry.owner, entry.ref);
    this.#store.endPause(session.id);
  }

  /** Somebody has stopped the session: it is left alone until it is spoken to. */
  rest(sessionId: string): void {
    this.#store.rest(sessionId);
  }

  /** The session is spoken to: whatever waited for a better time waits no longer. */
  wake(sessionId: string): void {
    this.#store.endPause(sessionId);
  }

  /** Ends the turn that a session is at, for what waits. */
  interruptNow(sessionId: string): void {
    const turn = this.#activeTurn(sessionId);
    if (turn) this.#interrupt(turn);
  }

  /**
   * Ends the turn that a session is at where an entry wants that and no tool runs and no approval is waited for.
   * To be called whenever either is over.
   */
  atBoundary(sessionId: string): void {
    if (!this.#isOpen || !this.#store.wantsInterrupt(sessionId)) return;
    const turn = this.#activeTurn(sessionId);
    if (!turn || turn.interrupt_requested_at !== null) return;
    const { sessionStore } = this.#given;
    const isHeld =
      sessionStore.pendingApprovals(turn.turn_id).length > 0 ||
      sessionStore.openItems(turn.turn_id).some(({ kind }) => kind === 'tool');
    if (!isHeld) this.#interrupt(turn);
  }

  /** The server stops: what waits is left for the next start. */
  stop(): void {
    this.#isOpen = false;
  }

  /** The entries of the next turn, in order, each with what it says. */
  #next(sessionId: string) {
    const taken: { entry: InboxEntry; source: Turn['source']; input: StoredInputItem[] }[] = [];
    let bytes = 0;
    for (const entry of this.#store.nextFor(sessionId)) {
      const words = this.#ownerOf(entry).words(entry);
      bytes += Buffer.byteLength(JSON.stringify(words.input));
      if (bytes > MAX_TURN_BYTES && taken.length > 0) break;
      taken.push({ entry, ...words });
    }
    return taken;
  }

  #activeTurn(sessionId: string): Turn | undefined {
    const { sessionStore } = this.#given;
    const active = sessionStore.sessions.get(sessionId)?.active_turn_id;
    return active ? sessionStore.turns.get(active) : undefined;
  }

  #interrupt(turn: Turn): void {
    const { db, requestInterrupt, interrupt } = this.#given;
    const asked = requestInterrupt(turn);
    db.whenDurable(() => interrupt(asked));
  }

  #backOff(sessionId: string): void {
    const { db, clock } = this.#given;
    const failures = (this.#store.pause(sessionId)?.failures ?? 0) + 1;
    const delay = Math.min(RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS);
    this.#store.backOff(sessionId, failures, clock.now() + delay);
    db.whenDurable(() => void clock.after(delay, () => this.#lookAgain(sessionId)));
  }

  #lookAgain(sessionId: string): void {
    this.#due.push(sessionId);
    this.#lookIntoDue().catch((error: unknown) =>
      this.#given.logger.error({ err: error }, 'an inbox could not be looked into'),
    );
  }

  /** There may be many: each slice is a transaction, and others are served in between. */
  async #lookIntoDue(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      for (let due = this.#due; this.#isOpen && due.length > 0; due = this.#due) {
        this.#due = [];
        await this.#lookIntoAll(due);
      }
    } finally {
      this.#isLooking = false;
    }
  }

  async #lookIntoAll(sessionIds: readonly string[]): Promise<void> {
    const { db, clock } = this.#given;
    for (let at = 0; at < sessionIds.length && this.#isOpen;) {
      const from = at;
      at = await db.transact(() => runSlice(clock, sessionIds, from, (id) => this.look(id)));
      if (at < sessionIds.length) await yieldToEventLoop();
    }
  }

  #ownerOf({ owner }: InboxEntry): InboxOwner {
    const found = this.#owners.get(owner);
    if (!found) throw new Error(`nobody answers for the entries of "${owner}"`);
    return found;
  }
}
