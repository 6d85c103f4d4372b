import type { Database } from '../store/database.ts';
import { type Scope, scopeColumn, scopeKey } from './event.ts';
import type { AppendedEntry, EventLog, LogEntry } from './log.ts';

/** What a follower is given at once. */
export interface FeedPage {
  entries: LogEntry[];
  /** Set where retention took events of the scope after the follower's cursor: the highest seq that went. */
  trimmed: number | null;
}

/** A follower holds no more than one page. */
const PAGE_EVENTS = 256;
const PAGE_BYTES = 256 * 1024;
/** The newest events are kept as text, so that followers at the head need no SQL. */
const RING_BYTES = 4 * 1024 * 1024;
/** Pages read for followers that lag, in one turn of the event loop. */
const PAGES_A_TURN = 8;

/**
 * Wakes followers; carries no data that is not in the log. A follower is a cursor: it reads what is on disk
 * after its cursor and, in the same tick in which it finds nothing, registers to be woken. So it misses and
 * repeats nothing, and a slow one only lags.
 */
export class Feed {
  readonly #db: Database;
  readonly #log: EventLog;
  readonly #ring: Ring;
  readonly #waiting = new Map<string, Set<Follower>>();
  readonly #followers = new Set<Follower>();
  readonly #pages = new PageQueue();

  constructor({
    db,
    log,
    ringBytes = RING_BYTES,
  }: {
    db: Database;
    log: EventLog;
    ringBytes?: number;
  }) {
    this.#db = db;
    this.#log = log;
    this.#ring = new Ring(db.durableSeq, ringBytes);
    db.onDurable((items) => this.#publish(items as AppendedEntry[]));
  }

  /** The newest seq that is on disk. */
  get latestSeq(): number {
    return this.#db.durableSeq;
  }

  /** Whatever went up to here is in the ring no more: it gives what the log gives. */
  forgetUpTo(seq: number): void {
    this.#ring.raiseFloor(seq);
  }

  /** The highest seq that retention took from a scope; 0: none. */
  trimmedSeq(scope: Scope): number {
    return this.#log.trimmedSeq(scope);
  }

  /** How many follow, how many of them wait for something new, and how far behind the slowest is. */
  stats(): { followers: number; waiting: number; max_lag: number } {
    let waiting = 0;
    let cursor = this.latestSeq;
    for (const follower of this.#followers) {
      if (follower.wake) waiting++;
      else cursor = Math.min(cursor, follower.cursor);
    }
    return { followers: this.#followers.size, waiting, max_lag: this.latestSeq - cursor };
  }

  /**
   * Pages of a scope after `after`, each what was ready, at most one page. Goes on until `signal` aborts, or
   * until `ending` has aborted and everything up to then was given. Where retention has overtaken the follower,
   * at the start or later, the page says so once.
   */
  async *follow(
    scope: Scope,
    after: number,
    signal: AbortSignal,
    ending?: AbortSignal,
  ): AsyncGenerator<FeedPage, void> {
    const follower: Follower = { cursor: after, told: after, wake: undefined };
    const isCovered = () => this.#ring.covers(follower.cursor);
    const lookUp = () => follower.wake?.(null);
    this.#followers.add(follower);
    signal.addEventListener('abort', lookUp);
    ending?.addEventListener('abort', lookUp);
    try {
      let trimmed = this.#newlyTrimmed(scope, follower);
      while (!signal.aborted) {
        const before = follower.cursor;
        let entries: LogEntry[];
        if (isCovered()) {
          entries = this.#ring.page(scope, follower);
        } else {
          await this.#pages.turn();
          trimmed ??= this.#newlyTrimmed(scope, follower);
          entries = this.#readPage(scope, follower);
        }
        if (entries.length > 0 || trimmed !== null) yield { entries, trimmed };
        // A page of other kinds has its end too.
        else if (follower.cursor > before) continue;
        else if (signal.aborted || ending?.aborted) break;
        else if (isCovered()) await this.#wait(scope, follower);
        trimmed = null;
      }
    } finally {
      signal.removeEventListener('abort', lookUp);
      ending?.removeEventListener('abort', lookUp);
      this.#followers.delete(follower);
    }
  }

  #readPage(scope: Scope, follower: Follower): LogEntry[] {
    const upTo = this.latestSeq;
    const bounds = { after: follower.cursor, upTo, limit: PAGE_EVENTS, maxBytes: PAGE_BYTES };
    const page = this.#log.page(scope, bounds);
    follower.cursor = page.end;
    return page.entries;
  }

  /** The highest seq that retention took from what the follower has still to read; told once. */
  #newlyTrimmed(scope: Scope, follower: Follower): number | null {
    const trimmed = this.#log.trimmedSeq(scope);
    if (trimmed <= follower.cursor || trimmed <= follower.told) return null;
    follower.told = trimmed;
    return trimmed;
  }

  /** Called in the tick in which the follower found nothing in the ring, so nothing can come in between. */
  async #wait(scope: Scope, follower: Follower): Promise<void> {
    const key = scopeKey(scope);
    const peers = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, peers.add(follower));
    const firstNew = await new Promise<number | null>((resolve) => {
      follower.wake = resolve;
    });
    follower.wake = undefined;
    peers.delete(follower);
    if (peers.size === 0 && this.#waiting.get(key) === peers) this.#waiting.delete(key);
    // Nothing of this scope lies before the event that woke it, so a quiet scope never falls out of the ring.
    if (firstNew !== null) follower.cursor = firstNew - 1;
  }

  #publish(entries: AppendedEntry[]): void {
    for (const entry of entries) {
      this.#ring.push(entry);
      this.#wake('', entry.seq);
      for (const [field, id] of Object.entries(entry.ids))
        if (id !== null) this.#wake(`${field}:${id}`, entry.seq);
    }
  }

  #wake(key: string, seq: number): void {
    const peers = this.#waiting.get(key);
    if (!peers) return;
    this.#waiting.delete(key);
    for (const follower of peers) follower.wake?.(seq);
  }
}

interface Follower {
  /** Everything of its scope up to here has been read. */
  cursor: number;
  /** The highest seq that it was told was trimmed. */
  told: number;
  /** Set while it waits: gives the seq of the first new event, or null to look up and leave. */
  wake: ((firstNew: number | null) => void) | undefined;
}

/** The newest events, in order, up to so many bytes. */
class Ring {
  readonly #entries: AppendedEntry[] = [];
  readonly #maxBytes: number;
  #head = 0;
  #bytes = 0;
  /** Every event after this one is in the ring. */
  #floor: number;

  constructor(floor: number, maxBytes: number) {
    this.#floor = floor;
    this.#maxBytes = maxBytes;
  }

  covers(cursor: number): boolean {
    return cursor >= this.#floor;
  }

  raiseFloor(seq: number): void {
    this.#floor = Math.max(this.#floor, seq);
  }

  push(entry: AppendedEntry): void {
    this.#entries.push(entry);
    this.#bytes += entry.text.length;
    while (this.#bytes > this.#maxBytes && this.#head < this.#entries.length) {
      const oldest = this.#entries[this.#head++];
      if (!oldest) break;
      this.#bytes -= oldest.text.length;
      this.raiseFloor(oldest.seq);
    }
    if (this.#head < 1024 || this.#head < this.#entries.length / 2) return;
    this.#entries.splice(0, this.#head);
    this.#head = 0;
  }

  /** The next page of a scope after the follower's cursor, which moves over all that was looked at. */
  page(scope: Scope, follower: Follower): LogEntry[] {
    const column = scopeColumn(scope);
    const page: LogEntry[] = [];
    let bytes = 0;
    for (let i = this.#after(follower.cursor); i < this.#entries.length; i++) {
      const entry = this.#entries[i];
      if (!entry || page.length === PAGE_EVENTS) break;
      const isOfScope =
        column === null || (scope.name !== 'runtime' && entry.ids[column] === scope.id);
      if (isOfScope && (scope.kinds?.has(entry.kind) ?? true)) {
        if (bytes > 0 && bytes + entry.text.length > PAGE_BYTES) break;
        bytes += entry.text.length;
        page.push(entry);
      }
      follower.cursor = entry.seq;
    }
    return page;
  }

  /** The index of the first entry after `seq`. */
  #after(seq: number): number {
    let low = this.#head;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle]?.seq ?? 0) <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Lets a few reads through in each turn of the event loop, so that a crowd that lags stalls nobody. */
class PageQueue {
  readonly #queue: (() => void)[] = [];
  #scheduled = false;

  turn(): Promise<void> {
    const turn = Promise.withResolvers<void>();
    this.#queue.push(turn.resolve);
    this.#schedule();
    return turn.promise;
  }

  #schedule(): void {
    if (this.#scheduled || this.#queue.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (const read of this.#queue.splice(0, PAGES_A_TURN)) read();
      this.#schedule();
    });
  }
}
