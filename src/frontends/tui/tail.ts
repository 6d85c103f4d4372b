import type { RuntimeEventRecord } from '../../api/events.ts';
import type { Client } from '../../client/client.ts';
import type { EventScope } from '../../client/event-scope.ts';
import { replay, replayBefore } from '../../client/replay.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { type Connection, follow } from './follow.ts';
import { Observable } from './observable.ts';
import { emptyView, following, type View, withNewer, withOlder } from './state.ts';

/** This many events are read at the start, and each time the user scrolls up to older ones. */
const PAGE = 500;

export interface TailOptions {
  client: Client;
  clock: Clock;
  scope: EventScope;
  /** The seq to begin after. Without it the newest stored events are shown. */
  after?: number | 'latest' | undefined;
  /** Of several servers, the one whose log it is. */
  node?: string | undefined;
  /** Called with the newest seq that was received. */
  onSeq?: (seq: number) => void;
}

/** Reads one scope of the log at a time into a view. */
export class Tail {
  readonly view = new Observable<View>(emptyView);
  readonly connection = new Observable<Connection>({ state: 'reading' });
  readonly scope: Observable<EventScope>;
  readonly node: string | undefined;
  readonly #options: TailOptions;
  #reading: AbortController | undefined;
  #older: Promise<void> | undefined;

  constructor(options: TailOptions) {
    this.#options = options;
    this.node = options.node;
    this.scope = new Observable(options.scope);
  }

  /** Begins with the scope and the position of the options. */
  start(): void {
    this.#read(this.#options.after);
  }

  /** Shows the newest events of another scope. The search stays. */
  open(scope: EventScope): void {
    this.scope.set(scope);
    this.#read(undefined);
  }

  /** Moves to the end and follows. */
  toEnd(): void {
    if (this.view.get().isCut) this.#read(undefined);
    else this.view.change(following);
  }

  /** Reads the page before the first row. Does nothing while that page is being read, or where there is none. */
  older(): Promise<void> {
    const { rows, hasStart } = this.view.get();
    const before = rows[0]?.first;
    if (before === undefined || hasStart) return Promise.resolve();
    this.#older ??= this.#readOlder(before).finally(() => (this.#older = undefined));
    return this.#older;
  }

  /** The record of an event; null where it has left the log. Throws an AppError where it cannot be read. */
  async record(seq: number): Promise<RuntimeEventRecord | null> {
    const { client } = this.#options;
    const { value } = await replay(client, {}, { after_seq: seq - 1, limit: 1 });
    return value.find((event) => event.seq === seq) ?? null;
  }

  stop(): void {
    this.#reading?.abort();
  }

  #read(after: number | 'latest' | undefined): void {
    this.stop();
    const reading = new AbortController();
    this.#reading = reading;
    const { client, clock } = this.#options;
    const scope = this.scope.get();
    const { search } = this.view.get();
    this.view.set({ ...emptyView, search });
    void follow({
      client,
      clock,
      scope,
      signal: reading.signal,
      begin: async () => after ?? this.#readNewest(reading.signal),
      take: (events) => {
        this.view.change((view) => withNewer(view, events));
        this.#options.onSeq?.(this.view.get().seq);
      },
      onConnection: (connection) => {
        if (!reading.signal.aborted) this.connection.set(connection);
      },
      onGap: (gap) => this.view.change((view) => ({ ...view, gap })),
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
    const hasStart = events.length < PAGE;
    this.view.change((view) => ({ ...withNewer(view, events), seq: latest, hasStart }));
    this.#options.onSeq?.(latest);
    return latest;
  }

  async #readOlder(before: number): Promise<void> {
    const reading = this.#reading;
    const events = await replayBefore(this.#options.client, this.scope.get(), before, PAGE);
    if (reading === this.#reading)
      this.view.change((view) => withOlder(view, events, events.length < PAGE));
  }
}
