import type { Session, StoredInputItem, Turn } from '../api/sessions.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { yieldToEventLoop, runSlice } from '../lib/slices.ts';
import type { Database } from '../store/database.ts';
import type { Reader, Writer } from '../store/transaction.ts';
import { InboxStore, type InboxEntry, type NewEntry } from './inbox-store.ts';
import { beginTurn } from './session.ts';
import type { SessionStore } from './store.ts';
import { newTurn } from './turn.ts';

/** A turn that could get no agent is tried again after the first number, doubled each time up to the second. */
const RETRY_MS = 1000;
const MAX_RETRY_MS = 300_000;
/** How many bytes of input one turn takes in; what is left becomes the next turn. */
const MAX_TURN_BYTES = 8 * 1024 * 1024;

/**
 * A kind of entry: what it says as a turn, and what follows when it moves on. Each method runs inside the transaction
 * that moves the entry.
 */
export interface InboxOwner {
  /** What the agent of the session is to read, and the source of that turn. */
  words(rx: Reader, entry: InboxEntry): { source: Turn['source']; input: StoredInputItem[] };
  /** The entry is part of a turn that was accepted. */
  injecting(tx: Writer, ref: string, turn: Turn): void;
  /** The turn of the entry has started: the agent may have seen it. */
  injected(tx: Writer, ref: string, turn: Turn): void;
  /** The turn of the entry ended before it started: no agent has seen it. Answers whether the entry goes on waiting. */
  deferred(tx: Writer, ref: string, turn: Turn): boolean;
  /** The turn of the entry has ended, after it had started. */
  over(tx: Writer, ref: string, turn: Turn): void;
  /** The session of the entry was closed, or has failed. Answers whether the entry goes on waiting. */
  unreachable(tx: Writer, ref: string, session: Session): boolean;
}

interface Dependencies {
  db: Database;
  sessionStore: SessionStore;
  clock: Clock;
  ids: Ids;
  logger: Logger;
  /** Runs a turn that was accepted. */
  start: (turn: Turn) => void;
  /** Stores that a turn is to end; its agent hears of it once that is on disk. */
  requestInterrupt: (tx: Writer, turn: Turn) => unknown;
}

/**
 * The queue of everything that is to become a turn of its session: by rank, then first come, first served. All entries
 * that wait for an idle session become one turn. What becomes a turn is decided by the rows; timers and starts only
 * follow from them.
 */
export class Inbox {
  readonly #given: Dependencies;
  readonly #store: InboxStore;
  readonly #owners = new Map<string, InboxOwner>();
  /** False until the server listens, and once it stops: then nothing becomes a turn. */
  #isOpen = false;
  /** Sessions whose inbox is to be looked into again, and whether that is under way. */
  #due: string[] = [];
  #isLooking = false;

  constructor(given: Dependencies) {
    this.#given = given;
    this.#store = new InboxStore(given.db);
  }

  /** Registers the owner of entries by its name, before any entry is put. */
  register(name: string, owner: InboxOwner): void {
    this.#owners.set(name, owner);
  }

  /** Keeps an entry until its turn comes. An entry that is there already keeps its place; `held` and `interrupts` change. */
  put(tx: Writer, entry: NewEntry): void {
    this.#store.put(tx, entry);
  }

  /** Takes an entry back that waits. */
  remove(tx: Writer, owner: string, ref: string): void {
    this.#store.remove(tx, owner, ref);
  }

  /** Whether an entry for the session would become its turn at once. */
  isFree(rx: Reader, sessionId: string): boolean {
    const session = this.#given.sessionStore.sessions.get(rx, sessionId);
    return session?.status === 'ready' && !this.isPaused(rx, sessionId);
  }

  /** Whether a session is left alone: it was stopped, or no agent could be had for it just now. */
  isPaused(rx: Reader, sessionId: string): boolean {
    const pause = this.#store.pause(rx, sessionId);
    return pause !== undefined && (pause.until === null || pause.until > this.#given.clock.now());
  }

  /** Makes one turn of what waits for a session, if the session is idle and not paused. */
  look(tx: Writer, sessionId: string): void {
    const { sessionStore, clock, ids, start } = this.#given;
    if (!this.#isOpen || !this.isFree(tx, sessionId)) return;
    const entries = this.#next(tx, sessionId);
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
      tx,
      beginTurn(sessionStore.session(tx, sessionId), turn, turn.accepted_at),
      turn,
    );
    for (const { entry } of entries) {
      this.#store.assign(tx, entry, turn.turn_id);
      this.#ownerOf(entry).injecting(tx, entry.ref, turn);
    }
    tx.whenDurable(() => start(turn));
  }

  /** From now on entries become turns. A start of the server ends every backoff. */
  async open(): Promise<void> {
    this.#isOpen = true;
    const waitedFor = await this.#given.db.transact((tx) => {
      this.#store.endBackOffs(tx);
      return this.#store.waitedFor(tx);
    });
    this.#due.push(...waitedFor);
    await this.#lookIntoDue();
  }

  /** To be called when the agent is about to see a turn: the backoff of its session ends. */
  turnStarted(tx: Writer, turn: Turn): void {
    this.#store.endBackOff(tx, turn.session_id);
    for (const entry of this.#store.ofTurn(tx, turn.turn_id))
      this.#ownerOf(entry).injected(tx, entry.ref, turn);
  }

  /** To be called when a turn has ended. Its entries wait again where no agent has seen them. */
  turnEnded(tx: Writer, turn: Turn): void {
    const entries = this.#store.ofTurn(tx, turn.turn_id);
    for (const entry of entries) {
      const owner = this.#ownerOf(entry);
      if (turn.started_at !== null) {
        this.#store.remove(tx, entry.owner, entry.ref);
        owner.over(tx, entry.ref, turn);
      } else if (owner.deferred(tx, entry.ref, turn)) this.#store.assign(tx, entry, null);
      else this.#store.remove(tx, entry.owner, entry.ref);
    }
    const isUnseen = turn.started_at === null && turn.status === 'failed';
    if (isUnseen && entries.length > 0) this.#backOff(tx, turn.session_id);
  }

  /** Gives up what waits for a session that was closed or has failed. Its turn has ended before. */
  giveUp(tx: Writer, session: Session): void {
    for (const entry of this.#store.waitingFor(tx, session.id))
      if (!this.#ownerOf(entry).unreachable(tx, entry.ref, session))
        this.#store.remove(tx, entry.owner, entry.ref);
    this.#store.endPause(tx, session.id);
  }

  /** Pauses a session that a person has stopped, until somebody sends it a turn or an urgent message. */
  rest(tx: Writer, sessionId: string): void {
    this.#store.rest(tx, sessionId);
  }

  /** Ends the pause of a session. */
  wake(tx: Writer, sessionId: string): void {
    this.#store.endPause(tx, sessionId);
  }

  /** Ends the turn that a session is at, for what waits. */
  interruptNow(tx: Writer, sessionId: string): void {
    const turn = this.#given.sessionStore.activeTurn(tx, sessionId);
    if (turn) this.#given.requestInterrupt(tx, turn);
  }

  /**
   * Ends the turn that a session is at where an entry wants that and no tool runs and no approval is waited for.
   * To be called whenever either is over.
   */
  atBoundary(tx: Writer, sessionId: string): void {
    if (!this.#isOpen || !this.#store.wantsInterrupt(tx, sessionId)) return;
    const turn = this.#given.sessionStore.activeTurn(tx, sessionId);
    if (!turn || turn.interrupt_requested_at !== null) return;
    const { sessionStore } = this.#given;
    const isHeld =
      sessionStore.pendingApprovals(tx, turn.turn_id).length > 0 ||
      sessionStore.openItems(tx, turn.turn_id).some(({ kind }) => kind === 'tool');
    if (!isHeld) this.#given.requestInterrupt(tx, turn);
  }

  /** The server stops: entries are left for the next start. */
  stop(): void {
    this.#isOpen = false;
  }

  /** The entries of the next turn, in order, each with what it says. */
  #next(rx: Reader, sessionId: string) {
    const taken: { entry: InboxEntry; source: Turn['source']; input: StoredInputItem[] }[] = [];
    let bytes = 0;
    for (const entry of this.#store.nextFor(rx, sessionId)) {
      const words = this.#ownerOf(entry).words(rx, entry);
      bytes += Buffer.byteLength(JSON.stringify(words.input));
      if (bytes > MAX_TURN_BYTES && taken.length > 0) break;
      taken.push({ entry, ...words });
    }
    return taken;
  }

  #backOff(tx: Writer, sessionId: string): void {
    const { clock } = this.#given;
    const failures = (this.#store.pause(tx, sessionId)?.failures ?? 0) + 1;
    const delay = Math.min(RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS);
    this.#store.backOff(tx, sessionId, failures, clock.now() + delay);
    tx.whenDurable(() => void clock.after(delay, () => this.#lookAgain(sessionId)));
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
      at = await db.transact((tx) => runSlice(clock, sessionIds, from, (id) => this.look(tx, id)));
      if (at < sessionIds.length) await yieldToEventLoop();
    }
  }

  #ownerOf({ owner }: InboxEntry): InboxOwner {
    const found = this.#owners.get(owner);
    if (!found) throw new Error(`nobody answers for the entries of "${owner}"`);
    return found;
  }
}
