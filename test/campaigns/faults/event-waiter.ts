import { isEnd } from '../../support/providers/watch.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';

/** The events of one subscriber, for activities that wait for them. */
export class EventWaiter {
  readonly #ends = new Map<string, PromiseWithResolvers<string>>();
  readonly #listeners: ((event: UntypedEvent) => void)[] = [];

  see(event: UntypedEvent): void {
    const { kind, turn_id: turn, process_id: process } = event;
    if (turn !== null && isEnd(event)) this.#endOf(turn).resolve(kind);
    if (process !== null && /^process\.(completed|failed|timed_out|killed)$/.test(kind))
      this.#endOf(process).resolve(kind);
    for (const listener of this.#listeners) listener(event);
  }

  /** Calls a function for each later event. */
  onEvent(listener: (event: UntypedEvent) => void): void {
    this.#listeners.push(listener);
  }

  /** Resolves with the kind of the event that ends a turn or a process. */
  endOf(id: string): Promise<string> {
    return this.#endOf(id).promise;
  }

  #endOf(id: string): PromiseWithResolvers<string> {
    const known = this.#ends.get(id);
    if (known) return known;
    const end = Promise.withResolvers<string>();
    this.#ends.set(id, end);
    return end;
  }
}
