import { BytePage } from '../lib/byte-page.ts';
import type { Database } from '../store/database.ts';
import { type Scope, scopeColumn, scopeKey } from './event.ts';
import { END_OF_FRAME, frameOf, headOfFrame } from './frames.ts';
import type { AppendedEntry, EventLog } from './log.ts';

export interface FeedPage {
  /** The events as frames of a stream, one after the other; empty only if the page reports deleted events. */
  frames: Buffer;
  /** The seq of the last event; without one, a seq that the subscriber has read up to. */
  last: number;
  /** The highest deleted seq, if retention has deleted events of the scope after the subscriber's cursor; else null. */
  trimmed: number | null;
}

/** The maximum size of a page, and of the events that a subscriber holds in memory. */
const PAGE_EVENTS = 256;
const PAGE_BYTES = 256 * 1024;
/** The newest events are cached as text up to this size, so that subscribers at the head need no SQL. */
const RING_BYTES = 4 * 1024 * 1024;
/** The maximum number of pages read from the log in one turn of the event loop, for subscribers that lag. */
const PAGES_PER_TURN = 8;

/**
 * Sends the events of the log to subscribers. A subscriber is a cursor: it reads the durable events after its cursor.
 * If there are none, it registers to be woken in the same tick, so that it misses and repeats no event. A slow
 * subscriber only lags; nothing is queued for it.
 */
export class Feed {
  readonly #db: Database;
  readonly #log: EventLog;
  readonly #ring: Ring;
  readonly #waiting = new Map<string, Set<Subscriber>>();
  readonly #subscribers = new Set<Subscriber>();
  readonly #pages = new PageQueue();
  readonly #page = new BytePage();

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

  /** The newest durable seq. */
  get latestSeq(): number {
    return this.#db.durableSeq;
  }

  /** Stops serving events up to `seq` from memory, because the log may no longer have them. */
  forgetUpTo(seq: number): void {
    this.#ring.raiseFloor(seq);
  }

  /** Returns the highest seq of a scope that retention has deleted; 0: none. */
  trimmedSeq(scope: Scope): number {
    return this.#log.trimmedSeq(scope);
  }

  /** Returns the number of subscribers, of those that wait for a new event, and the lag of the slowest in events. */
  stats(): { followers: number; waiting: number; max_lag: number } {
    let waiting = 0;
    let cursor = this.latestSeq;
    for (const subscriber of this.#subscribers) {
      if (subscriber.wake) waiting++;
      else cursor = Math.min(cursor, subscriber.cursor);
    }
    return { followers: this.#subscribers.size, waiting, max_lag: this.latestSeq - cursor };
  }

  /**
   * Yields the events of a scope after the seq `after`, in pages, as soon as they are durable. Ends when `signal`
   * aborts, or when `ending` has aborted and every event up to then was yielded. If retention has deleted events that
   * the subscriber has not read yet, the next page reports it, once. A subscriber that waited for an event awaits
   * `gather` before it reads: what comes meanwhile is in the same page.
   */
  async *subscribe(
    scope: Scope,
    after: number,
    signal: AbortSignal,
    ending?: AbortSignal,
    gather?: () => Promise<void>,
  ): AsyncGenerator<FeedPage, void> {
    const subscriber: Subscriber = { cursor: after, reportedTrim: after, wake: undefined };
    const isCovered = () => this.#ring.covers(subscriber.cursor);
    const wakeUp = () => subscriber.wake?.(null);
    this.#subscribers.add(subscriber);
    signal.addEventListener('abort', wakeUp);
    ending?.addEventListener('abort', wakeUp);
    try {
      let trimmed = this.#newlyTrimmed(scope, subscriber);
      while (!signal.aborted) {
        const before = subscriber.cursor;
        let page: Frames;
        if (isCovered()) {
          page = this.#ring.page(scope, subscriber);
        } else {
          await this.#pages.turn();
          trimmed ??= this.#newlyTrimmed(scope, subscriber);
          page = this.#readPage(scope, subscriber);
        }
        if (page.frames.length > 0 || trimmed !== null) yield { ...page, trimmed };
        // The scanned events were all of other kinds, and the cursor has moved past them.
        else if (subscriber.cursor > before) continue;
        else if (signal.aborted || ending?.aborted) break;
        else if (isCovered()) {
          await this.#wait(scope, subscriber);
          await gather?.();
        }
        trimmed = null;
      }
    } finally {
      signal.removeEventListener('abort', wakeUp);
      ending?.removeEventListener('abort', wakeUp);
      this.#subscribers.delete(subscriber);
    }
  }

  #readPage(scope: Scope, subscriber: Subscriber): Frames {
    const upTo = this.latestSeq;
    const bounds = { after: subscriber.cursor, upTo, limit: PAGE_EVENTS, maxBytes: PAGE_BYTES };
    this.#page.clear();
    const { end, last } = this.#log.page(scope, bounds, (seq, kind, text) => {
      this.#page.ascii(headOfFrame(seq, kind));
      this.#page.bytes(text);
      this.#page.ascii(END_OF_FRAME);
    });
    subscriber.cursor = end;
    return { frames: this.#page.flush(), last };
  }

  /** Returns the highest deleted seq after the subscriber's cursor, unless that was reported to it; else null. */
  #newlyTrimmed(scope: Scope, subscriber: Subscriber): number | null {
    const trimmed = this.#log.trimmedSeq(scope);
    if (trimmed <= subscriber.cursor || trimmed <= subscriber.reportedTrim) return null;
    subscriber.reportedTrim = trimmed;
    return trimmed;
  }

  /** Waits for a new event. Must be called in the tick that found the ring empty, so that no event is missed. */
  async #wait(scope: Scope, subscriber: Subscriber): Promise<void> {
    const key = scopeKey(scope);
    const peers = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, peers.add(subscriber));
    const firstNew = await new Promise<number | null>((resolve) => {
      subscriber.wake = resolve;
    });
    subscriber.wake = undefined;
    peers.delete(subscriber);
    if (peers.size === 0 && this.#waiting.get(key) === peers) this.#waiting.delete(key);
    // The scope has no events between the cursor and the one that woke it, so a subscriber of a quiet scope stays in
    // the ring.
    if (firstNew !== null) subscriber.cursor = firstNew - 1;
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
    for (const subscriber of peers) subscriber.wake?.(seq);
  }
}

type Frames = Pick<FeedPage, 'frames' | 'last'>;

interface Subscriber {
  /** Everything of its scope up to here has been read. */
  cursor: number;
  /** The highest deleted seq that was reported to it. */
  reportedTrim: number;
  /** Set while it waits. Called with the seq of the first new event, or with null to check whether it is to end. */
  wake: ((firstNew: number | null) => void) | undefined;
}

/** The newest events in the order of their seqs, up to `maxBytes` UTF-16 code units of text. */
class Ring {
  /** An entry that the ring has dropped is undefined, so that its text takes no memory. */
  readonly #entries: (AppendedEntry | undefined)[] = [];
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
      const oldest = this.#entries[this.#head];
      this.#entries[this.#head++] = undefined;
      if (!oldest) break;
      this.#bytes -= oldest.text.length;
      this.raiseFloor(oldest.seq);
    }
    if (this.#head < 1024 || this.#head < this.#entries.length / 2) return;
    this.#entries.splice(0, this.#head);
    this.#head = 0;
  }

  /**
   * Returns the frames of the next page of a scope after the subscriber's cursor, and moves the cursor past every
   * scanned event.
   */
  page(scope: Scope, subscriber: Subscriber): Frames {
    const column = scopeColumn(scope);
    const page: Buffer[] = [];
    let last = subscriber.cursor;
    let bytes = 0;
    for (let i = this.#after(subscriber.cursor); i < this.#entries.length; i++) {
      const entry = this.#entries[i];
      if (!entry || page.length === PAGE_EVENTS) break;
      const isOfScope =
        column === null || (scope.name !== 'runtime' && entry.ids[column] === scope.id);
      if (isOfScope && (scope.kinds?.has(entry.kind) ?? true)) {
        if (bytes > 0 && bytes + entry.text.length > PAGE_BYTES) break;
        bytes += entry.text.length;
        page.push(frameOf(entry));
        last = entry.seq;
      }
      subscriber.cursor = entry.seq;
    }
    // Subscribers that are up to date share the frame of a single event.
    const [first] = page;
    return { frames: first && page.length === 1 ? first : Buffer.concat(page), last };
  }

  /** Returns the index of the first entry after `seq`, by binary search. */
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

/** Admits a few reads in each turn of the event loop, so that many lagging subscribers do not block it. */
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
      for (const read of this.#queue.splice(0, PAGES_PER_TURN)) read();
      this.#schedule();
    });
  }
}
