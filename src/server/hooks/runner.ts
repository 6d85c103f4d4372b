import type { Hook } from '../../api/hooks.ts';
import { isAppError } from '../../api/errors.ts';
import type { ServerParts } from '../../core/events/server-parts.ts';
import type { Feed } from '../../core/events/feed.ts';
import { scopeColumn } from '../../core/events/event.ts';
import type { AppendedEntry, LogEntry } from '../../core/events/log.ts';
import { persist } from '../../core/store/persist.ts';
import type { Writer } from '../../core/store/transaction.ts';
import type { HookDefinition } from './definition.ts';
import { messageOf, type Outcome } from './outcome.ts';
import { Throttle } from './throttle.ts';
import type { HookState, HookStore } from './store.ts';

/** How much of the log is read at once. */
const PAGE = { limit: 64, maxBytes: 512 * 1024 };
/** How far a hook that gets no events may be ahead of its stored position, in events of the log. */
const AHEAD = 5000;
/** The maximum number of pending events that are counted. */
const COUNTED = 1000;
/** The pause after the first failure, in ms. Each further pause is twice as long. */
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 300_000;
/** Health, the log and an event report a hook that fails at one event for this time, in ms. */
const FAILURE_NOTICE_AFTER_MS = 300_000;

export interface RunnerDeps extends Pick<ServerParts, 'db' | 'log' | 'clock' | 'logger'> {
  feed: Pick<Feed, 'latestSeq' | 'trimmedSeq'>;
  store: HookStore;
  /** Makes one attempt to deliver an event; null: the approval of the event is no longer pending. Never rejects. */
  attempt: (
    hook: HookDefinition,
    entry: LogEntry,
    attempt: number,
    signal: AbortSignal,
  ) => Promise<Outcome | null>;
}

type Change = (state: HookState, tx: Writer) => HookState;

/**
 * Delivers the events of one hook from the log, one after the other, and repeats each until the delivery succeeds. The
 * position is stored after each event, so that after a crash an event may be delivered again, and none is skipped.
 */
export class HookRunner {
  readonly definition: HookDefinition;
  readonly #deps: RunnerDeps;
  readonly #stopping = new AbortController();
  readonly #throttle: Throttle;
  readonly #slowedOffset: number;
  #state: HookState;
  /** The seq up to which the log was read. The stored position may be behind, if no event was for the hook. */
  #cursor: number;
  #oldest: number | null = null;
  #isCaughtUp = false;
  #wake: (() => void) | undefined;
  /** Ends the attempt that runs, or the pause after it. */
  #attempting = new AbortController();
  readonly #done: Promise<void>;

  constructor(deps: RunnerDeps, definition: HookDefinition, state: HookState) {
    this.#deps = deps;
    this.definition = definition;
    this.#state = state;
    this.#cursor = state.cursor;
    this.#throttle = new Throttle(deps.clock.monotonic());
    this.#slowedOffset = deps.clock.now() - deps.clock.monotonic();
    this.#done = this.#runUntilStopped();
  }

  /** Ends what is under way within `graceMs`; resolves once nothing of the hook runs and its position is stored. */
  async stop(graceMs = 0): Promise<void> {
    this.#stopping.abort();
    this.#wake?.();
    if (graceMs === 0) this.#attempting.abort();
    using _limit = this.#deps.clock.after(graceMs, () => this.#attempting.abort());
    await this.#done;
    await this.#store().catch(() => undefined);
  }

  /** Must be called with all events that have reached the disk, in their order. */
  seen(entries: readonly AppendedEntry[]): void {
    if (!this.#isCaughtUp) return;
    if (entries.some((entry) => this.#isFor(entry))) {
      this.#isCaughtUp = false;
      this.#wake?.();
      return;
    }
    this.#cursor = entries.at(-1)?.seq ?? this.#cursor;
    if (this.#cursor - this.#state.cursor >= AHEAD) void this.#store().catch(() => undefined);
  }

  /** Returns the fields of the hook in the list. */
  describe(): Progress {
    const { failure } = this.#state;
    const { slowedAt } = this.#throttle;
    const waiting = this.#waiting();
    const { told: _told, ...shown } = failure ?? { told: false };
    return {
      ...progressOf(this.#state),
      state: failure ? 'failing' : waiting.count > 0 ? 'delivering' : 'idle',
      cursor: this.#cursor,
      waiting: waiting.count,
      waiting_since: waiting.since,
      failure: failure ? (shown as Hook['failure']) : null,
      slowed_since: slowedAt === null ? null : Math.round(slowedAt + this.#slowedOffset),
    };
  }

  /** Returns the problem of the hook for a person to solve. Null if the hook has no problem. `now`: Unix ms. */
  problem(now: number): string | null {
    const { failure } = this.#state;
    if (failure && now - failure.since >= FAILURE_NOTICE_AFTER_MS)
      return `has failed for ${minutes(now - failure.since)}: ${failure.error}`;
    if (this.#oldest !== null && now - this.#oldest >= FAILURE_NOTICE_AFTER_MS * 2)
      return `is ${minutes(now - this.#oldest)} behind`;
    return null;
  }

  /** The seq up to which all events are delivered or skipped. */
  get cursor(): number {
    return Math.max(this.#cursor, this.#state.cursor);
  }

  /** Must be called once it is on disk that the hook continues behind the event `cursor`. */
  skipped(state: HookState): void {
    this.#state = state;
    this.#cursor = Math.max(this.#cursor, state.cursor);
    this.#attempting.abort();
    this.#wake?.();
  }

  async #runUntilStopped(): Promise<void> {
    const { clock, logger } = this.#deps;
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#round();
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        logger.error(
          { err: error, hook: this.definition.name },
          'a hook cannot read the event log',
        );
        await this.#failed(null, messageOf(error));
        await clock.sleep(pauseAfter(1), this.#stopping.signal).catch(() => undefined);
      }
    }
  }

  /** Waits until there is an event, then delivers all events up to now. */
  async #round(): Promise<void> {
    const { clock, feed, logger } = this.#deps;
    await this.#untilThereIsMore();
    const pause = this.#throttle.begin(clock.monotonic());
    if (pause > 0) {
      logger.debug(
        { hook: this.definition.name },
        'events arrive as fast as the hook handles them',
      );
      await clock.sleep(pause, this.#stopping.signal).catch(() => undefined);
    }
    const end = feed.latestSeq;
    while (this.#cursor < end && !this.#stopping.signal.aborted) {
      await this.#noteGap();
      const { entries, end: read } = this.#read(this.#cursor, PAGE.limit, end);
      for (const entry of entries) {
        if (this.#stopping.signal.aborted) return;
        if (entry.seq <= this.#cursor) continue;
        await this.#deliver(entry);
      }
      if (this.#stopping.signal.aborted) return;
      this.#cursor = Math.max(this.#cursor, read);
    }
    this.#oldest = null;
    if (this.#state.failure?.event_seq === null)
      await this.#update((state) => ({ ...state, failure: null }));
  }

  /** Must look for more and begin to wait in the same turn of the event loop, so that no event is missed. */
  async #untilThereIsMore(): Promise<void> {
    if (this.#cursor < this.#deps.feed.latestSeq) return;
    this.#isCaughtUp = true;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#stopping.signal.aborted) resolve();
    });
    this.#wake = undefined;
    this.#isCaughtUp = false;
  }

  #read(after: number, limit: number, upTo: number): { entries: LogEntry[]; end: number } {
    const entries: LogEntry[] = [];
    const { scope } = this.definition;
    const bounds = { after, upTo, limit, maxBytes: PAGE.maxBytes };
    try {
      const { end } = this.#deps.log.page(scope, bounds, (seq, kind, text) =>
        entries.push({ seq, kind, text: text.toString('utf8') }),
      );
      return { entries, end };
    } catch (error) {
      // The event after these is damaged.
      const last = entries.at(-1);
      if (last) return { entries, end: last.seq };
      throw error;
    }
  }

  /** Delivers an event, unless it is skipped or the hook stops. */
  async #deliver(entry: LogEntry): Promise<void> {
    const { clock } = this.#deps;
    this.#oldest = createdAt(entry);
    const { failure } = this.#state;
    const before = failure?.event_seq === entry.seq ? failure.attempts : 0;
    const isOver = () => this.#stopping.signal.aborted || entry.seq <= this.#cursor;
    for (let attempt = before + 1; !isOver(); attempt++) {
      // A skip ends only the attempt that runs, or its pause.
      const { signal } = (this.#attempting = new AbortController());
      const outcome = await this.#deps.attempt(this.definition, entry, attempt, signal);
      if (signal.aborted && !(outcome?.ok ?? true)) continue;
      if (outcome === null || outcome.ok) return this.#delivered(entry, outcome !== null);
      if (!this.definition.retries) {
        this.#logFailure(entry, outcome);
        return this.#delivered(entry, false);
      }
      await this.#failed(entry, outcome.error, attempt);
      const ended = AbortSignal.any([signal, this.#stopping.signal]);
      await clock.sleep(pauseAfter(attempt), ended).catch(() => undefined);
    }
  }

  async #delivered({ seq }: LogEntry, wasTaken: boolean): Promise<void> {
    const { log, clock } = this.#deps;
    await this.#persist((state, tx) => {
      const { failure } = state;
      if (failure?.told === true && failure.event_seq !== null && wasTaken) {
        const payload = { hook: state.name, event_seq: failure.event_seq, since: failure.since };
        log.append(tx, { kind: 'hook.recovered', payload });
      }
      return {
        ...state,
        cursor: Math.max(state.cursor, seq),
        delivered: state.delivered + (wasTaken ? 1 : 0),
        delivered_at: wasTaken ? clock.now() : state.delivered_at,
        failure: null,
      };
    });
    this.#cursor = Math.max(this.#cursor, seq);
  }

  async #failed(entry: LogEntry | null, error: string, attempts = 1): Promise<void> {
    const { log, clock, logger } = this.#deps;
    await this.#persist((state, tx) => {
      const event_seq = entry?.seq ?? null;
      // Skipped meanwhile.
      if (event_seq !== null && event_seq <= state.cursor) return state;
      const now = clock.now();
      const before = state.failure?.event_seq === event_seq ? state.failure : null;
      const since = before?.since ?? now;
      const told = before?.told ?? false;
      const isLong = now - since >= FAILURE_NOTICE_AFTER_MS;
      if (isLong && !told) {
        const payload = { hook: state.name, event_seq, attempts, since, error };
        log.append(tx, { kind: 'hook.failing', payload });
        logger.warn(payload, 'a hook is failing persistently');
      }
      const retry_at = now + pauseAfter(attempts);
      const failure = { event_seq, since, attempts, error, retry_at, told: told || isLong };
      return { ...state, failure };
    });
    logger.info({ hook: this.definition.name, event_seq: entry?.seq, error }, 'a hook failed');
  }

  #logFailure(entry: LogEntry, outcome: Outcome & { ok: false }): void {
    const { payload } = JSON.parse(entry.text) as { payload?: { approval?: { id?: string } } };
    const { error, code, signal } = outcome;
    const about = { approval_id: payload?.approval?.id, code, signal, error };
    this.#deps.logger.warn(about, `${this.definition.name} failed`);
  }

  /** Appends an event about events that retention has removed before their delivery. */
  async #noteGap(): Promise<void> {
    const { feed, log, clock, logger } = this.#deps;
    const trimmed_seq = feed.trimmedSeq(this.definition.scope);
    if (trimmed_seq <= this.#cursor || trimmed_seq <= (this.#state.gap?.trimmed_seq ?? 0)) return;
    const after_seq = this.#cursor;
    await this.#update((state, tx) => {
      const payload = { hook: state.name, after_seq, trimmed_seq };
      log.append(tx, { kind: 'hook.gap', payload });
      logger.warn(payload, 'retention removed events before they were delivered to a hook');
      const times = (state.gap?.times ?? 0) + 1;
      return { ...state, gap: { after_seq, trimmed_seq, at: clock.now(), times } };
    });
  }

  async #update(change: Change): Promise<void> {
    await this.#deps.db.transact((tx) => this.#write(tx, change));
  }

  /** Stores the outcome of an attempt once the disk has room: without it, the event would be delivered again. */
  async #persist(change: Change): Promise<void> {
    const what = { hook: this.definition.name };
    await persist(this.#deps, this.#stopping.signal, what, (tx) => this.#write(tx, change));
  }

  #write(tx: Writer, change: Change): void {
    const next = change(this.#row(tx), tx);
    this.#deps.store.update(tx, next);
    tx.whenDurable(() => (this.#state = next));
  }

  #row(tx: Writer): HookState {
    return this.#deps.store.begin(tx, this.definition.name, this.#state.cursor);
  }

  /** Stores the position, if events were read that are not for the hook. */
  #store(): Promise<void> {
    const cursor = this.#cursor;
    if (cursor <= this.#state.cursor) return Promise.resolve();
    return this.#update((state) => ({ ...state, cursor: Math.max(state.cursor, cursor) }));
  }

  #isFor({ kind, ids }: AppendedEntry): boolean {
    const { scope } = this.definition;
    const column = scopeColumn(scope);
    return (
      scope.kinds.has(kind) &&
      (column === null || (scope.name !== 'runtime' && ids[column] === scope.id))
    );
  }

  #waiting(): { count: number; since: number | null } {
    if (this.#isCaughtUp) return { count: 0, since: null };
    const { latestSeq } = this.#deps.feed;
    let count = 0;
    let since: number | null = null;
    try {
      for (let after = this.#cursor; after < latestSeq && count < COUNTED;) {
        const { entries, end } = this.#read(after, COUNTED - count, latestSeq);
        const [first] = entries;
        if (first) since ??= createdAt(first);
        count += entries.length;
        after = end;
      }
    } catch (error) {
      // The hook itself reports a damaged event once it reaches the event.
      if (!isAppError(error, 'storage_damaged')) throw error;
    }
    return { count, since };
  }
}

type Progress = ReturnType<typeof progressOf>;

/** Returns the fields in the list of a hook that does not run. */
export function progressOf(state: HookState | undefined) {
  return {
    state: 'off' as Hook['state'],
    cursor: state?.cursor ?? 0,
    waiting: 0,
    waiting_since: null as number | null,
    delivered: state?.delivered ?? 0,
    delivered_at: state?.delivered_at ?? null,
    failure: null as Hook['failure'],
    gap: state?.gap ?? null,
    slowed_since: null as number | null,
  };
}

function createdAt({ text }: LogEntry): number {
  return (JSON.parse(text) as { created_at: number }).created_at;
}

function minutes(ms: number): string {
  const count = Math.floor(ms / 60_000);
  return count < 120 ? `${count} minutes` : `${Math.floor(count / 60)} hours`;
}

/** Returns the pause after so many failures at one event, in ms. */
export function pauseAfter(attempts: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** Math.min(attempts - 1, 20), LONGEST_PAUSE_MS);
}
