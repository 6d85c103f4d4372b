import { once } from 'node:events';
import type { Clock } from '../../core/lib/clock.ts';

/**
 * The requests without a complete response, so that the server can stop after the last response instead of cutting it
 * off.
 */
export class UnderWay {
  readonly #clock: Clock;
  readonly #requests = new Set<AbortSignal>();
  readonly #none = new EventTarget();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a request; its signal aborts when it is over. */
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

  /** Resolves when no request is left, or after `ms` milliseconds. */
  async over(ms: number): Promise<void> {
    if (this.#requests.size === 0) return;
    using _late = this.#clock.after(ms, () => this.#none.dispatchEvent(new Event('none')));
    await once(this.#none, 'none');
  }
}
