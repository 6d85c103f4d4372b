import { once } from 'node:events';
import type { Clock } from '../lib/clock.ts';

/** The requests that are not over, so that the server can end with the last answer instead of cutting it. */
export class UnderWay {
  readonly #clock: Clock;
  readonly #requests = new Set<AbortSignal>();
  readonly #none = new EventTarget();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes note of a request, whose signal aborts when it is over. */
  add(request: AbortSignal): void {
    if (request.aborted) return;
    this.#requests.add(request);
    request.addEventListener(
      'abort',
      () => {
        this.#requests.delete(request);
        if (this.#requests.size === 0) this.#none.dispatchEvent(new Event('none'));
      },
      { once: true },
    );
  }

  /** Resolves when none is left, or after `ms` milliseconds. */
  async over(ms: number): Promise<void> {
    if (this.#requests.size === 0) return;
    using _late = this.#clock.after(ms, () => this.#none.dispatchEvent(new Event('none')));
    await once(this.#none, 'none');
  }
}
