import type { Client } from '../../../src/client/client.ts';
import { streamEvents } from '../../../src/client/stream.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import type { UntypedEvent } from '../untyped-events.ts';
import { scaled } from '../patience.ts';

const endings: ReadonlySet<string> = new Set(['turn.completed', 'turn.interrupted', 'turn.failed']);

/** Reports whether the event ends a turn. */
export function isEnd({ kind }: UntypedEvent): boolean {
  return endings.has(kind);
}

/**
 * Follows the events of one session, or of all sessions, from the first one, and keeps them. A later read of the log
 * would miss the deltas, which leave the log.
 */
export class Watch implements AsyncDisposable {
  readonly events: UntypedEvent[] = [];
  readonly #withinMs: number;
  readonly #stop = new AbortController();
  readonly #followed: Promise<void>;
  #news = Promise.withResolvers<void>();
  #failure: Error | undefined;

  /** `withinMs` is the default time limit for the wait for an event. */
  constructor(client: Client, sessionId?: string, withinMs = 18_000) {
    this.#withinMs = withinMs;
    this.#followed = this.#follow(client, sessionId);
  }

  /** Resolves with the first event, old or new, that matches; the error names `what` after the time limit. */
  async until(
    what: string,
    matches: (event: UntypedEvent) => boolean,
    withinMs = this.#withinMs,
  ): Promise<UntypedEvent> {
    let late = false;
    using _limit = systemClock.after(scaled(withinMs), () => {
      late = true;
      this.#wake();
    });
    for (let next = 0; ;) {
      for (; next < this.events.length; next++) {
        const event = this.events[next];
        if (event && matches(event)) return event;
      }
      if (late || this.#failure !== undefined) {
        const seen = this.events.map(({ kind }) => kind).join(', ');
        const message = `there was no ${what} within ${withinMs} ms, only: ${seen}`;
        throw new Error(message, { cause: this.#failure });
      }
      await this.#news.promise;
    }
  }

  /** Resolves once so many old or new events have matched. */
  async times(matches: (event: UntypedEvent) => boolean, count: number): Promise<void> {
    let left = count;
    await this.until(`${count} such events`, (event) => matches(event) && --left === 0);
  }

  /** Resolves with the first event of a kind in a turn. */
  kind(kind: string, turnId?: string, withinMs?: number): Promise<UntypedEvent> {
    const matches = (event: UntypedEvent) =>
      event.kind === kind && (turnId === undefined || event.turn_id === turnId);
    return this.until(kind, matches, withinMs);
  }

  /** Resolves with the event that ends a turn. */
  end(turnId: string, withinMs?: number): Promise<UntypedEvent> {
    return this.until(
      'end of the turn',
      (event) => event.turn_id === turnId && isEnd(event),
      withinMs,
    );
  }

  /** Returns all events of a turn so far, or (null) all events outside of turns. */
  of(turnId: string | null): UntypedEvent[] {
    return this.events.filter((event) => event.turn_id === turnId);
  }

  /** Stops, and throws the error of a failed stream. */
  async stop(): Promise<void> {
    await this[Symbol.asyncDispose]();
    if (this.#failure !== undefined) throw this.#failure;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#followed;
  }

  async #follow(client: Client, sessionId?: string): Promise<void> {
    const { signal } = this.#stop;
    try {
      for await (const event of streamEvents({
        client,
        clock: systemClock,
        signal,
        ...(sessionId !== undefined && { sessionId }),
      })) {
        this.events.push(event);
        this.#wake();
      }
    } catch (error) {
      this.#failure = error as Error;
    }
    this.#wake();
  }

  #wake(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}
