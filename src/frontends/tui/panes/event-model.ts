import type { RuntimeEventRecord, StreamGap } from '../../../api/events.ts';
import type { Client } from '../../../client/client.ts';
import type { EventScope } from '../../../client/event-scope.ts';
import { replay, replayBefore } from '../../../client/replay.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { type Connection, follow } from '../follow.ts';
import { Observable } from '../observable.ts';
import { type EventRow, contains, eventLine, withEvents } from './event-row.ts';
import type { Copyable, PaneModel } from './pane-model.ts';
import { Reader } from './reader.ts';

/** This many events are read at first, and each time the reader comes to the top. */
const PAGE = 500;
export const MAX_ROWS = 5000;

interface EventOptions {
  client: Client;
  clock: Clock;
  scope: EventScope;
  /** The seq to begin after. Without it the newest stored events are shown. */
  after?: number | 'latest' | undefined;
  /** The server of the log, if there are several. */
  node?: string | undefined;
  /** Called with the newest seq that was received. */
  onSeq?: (seq: number) => void;
}

/** The events of one scope of the log at a time: a window of rows, with a cursor. */
export class EventModel implements PaneModel {
  readonly connection = new Observable<Connection>({ state: 'reading' });
  readonly seq = new Observable(0);
  readonly scope: Observable<EventScope>;
  readonly node: string | undefined;
  readonly reader: Reader;
  /** The number of events since the reader stopped following. */
  unseen = 0;
  gap: StreamGap | null = null;
  readonly #options: EventOptions;
  #rows: readonly EventRow[] = [];
  #hasStart = false;
  /** Whether the newest rows were dropped, to make room for older ones. */
  #isCut = false;
  #reading = new AbortController();
  #older: Promise<void> | undefined;

  constructor(options: EventOptions) {
    this.#options = options;
    this.node = options.node;
    this.scope = new Observable(options.scope);
    this.reader = new Reader({
      count: () => this.#rows.length,
      linesOf: (at, shape) => this.#rows.slice(at, at + 1).map((row) => eventLine(row, shape)),
      textOf: (at) => this.#rows[at]?.text ?? '',
      lineWithCursor: (at, shape) => {
        const row = this.#rows[at];
        return row ? eventLine(row, shape, true) : '';
      },
      contains: (at, search) => this.#rows.slice(at, at + 1).some((row) => contains(row, search)),
    });
    this.reader.follows.subscribe(() => {
      if (!this.reader.follows.get()) return;
      this.unseen = 0;
      if (this.#isCut) this.#read(undefined);
    });
  }

  start(): void {
    this.#read(this.#options.after);
  }

  stop(): void {
    this.#reading.abort();
  }

  /** Shows the newest events of another scope. The search stays. */
  open(scope: EventScope): void {
    this.scope.set(scope);
    this.#read(undefined);
  }

  older(): Promise<void> {
    const before = this.#rows[0]?.first;
    if (before === undefined || this.#hasStart) return Promise.resolve();
    this.#older ??= this.#readOlder(before).finally(() => (this.#older = undefined));
    return this.#older;
  }

  coverage(): string {
    const count = this.#rows.length;
    return this.#hasStart && !this.#isCut ? `in all ${count} rows` : `in ${count} loaded rows`;
  }

  copyable(): Copyable[] {
    return [{ name: 'visible text', text: this.reader.visibleText() }];
  }

  selected(): EventRow | undefined {
    return this.#rows[this.reader.cursor];
  }

  /** The record of an event; null where it has left the log. Throws an AppError where it cannot be read. */
  async record(seq: number): Promise<RuntimeEventRecord | null> {
    const { client } = this.#options;
    const { value } = await replay(client, {}, { after_seq: seq - 1, limit: 1 });
    return value.find((event) => event.seq === seq) ?? null;
  }

  #read(after: number | 'latest' | undefined): void {
    this.stop();
    const reading = new AbortController();
    this.#reading = reading;
    const { client, clock } = this.#options;
    this.#rows = [];
    this.#hasStart = false;
    this.#isCut = false;
    this.gap = null;
    this.seq.set(0);
    this.reader.toEnd();
    void follow({
      client,
      clock,
      scope: this.scope.get(),
      signal: reading.signal,
      begin: async () => after ?? this.#readNewest(reading.signal),
      take: (events) => this.#take(events),
      connection: this.connection,
      onGap: (gap) => {
        this.gap = gap;
        this.reader.changed();
      },
    });
  }

  /** Reads the newest page and resolves with the seq up to which it is complete. */
  async #readNewest(signal: AbortSignal): Promise<number> {
    const { client } = this.#options;
    const scope = this.scope.get();
    const { headers } = await replay(client, scope, { after_seq: 0, limit: 1 });
    const latest = Number(headers['x-seq'] ?? 0);
    const events = await replayBefore(client, scope, latest + 1, PAGE);
    if (signal.aborted) return latest;
    this.#hasStart = events.length < PAGE;
    this.#reach(latest);
    this.#show(withEvents(this.#rows, events));
    return latest;
  }

  async #readOlder(before: number): Promise<void> {
    const reading = this.#reading;
    const events = await replayBefore(this.#options.client, this.scope.get(), before, PAGE);
    if (reading !== this.#reading) return;
    this.#hasStart = events.length < PAGE;
    this.#show(withEvents(this.#rows, events));
  }

  #take(events: readonly RuntimeEventRecord[]): void {
    const fresh = events.filter(({ seq }) => seq > this.seq.get());
    if (!this.reader.follows.get()) this.unseen += fresh.length;
    this.#reach(fresh.at(-1)?.seq ?? this.seq.get());
    this.#show(withEvents(this.#rows, events, this.#isCut));
  }

  #reach(seq: number): void {
    this.seq.set(seq);
    this.#options.onSeq?.(seq);
  }

  /** Shows some rows, as many as are kept: the newest ones, or, while the reader looks at older ones, the oldest. */
  #show(rows: readonly EventRow[]): void {
    const { cursor } = this.reader;
    const key = this.#rows[cursor]?.key;
    if (rows.length <= MAX_ROWS) this.#rows = rows;
    else if (this.reader.follows.get()) {
      this.#rows = rows.slice(-MAX_ROWS);
      this.#hasStart = false;
    } else {
      this.#rows = rows.slice(0, MAX_ROWS);
      this.#isCut = true;
    }
    const at = this.#rows.findIndex((row) => row.key === key);
    this.reader.changed(at < 0 ? 0 : at - cursor);
  }
}
