import type { Clock } from '../../../core/lib/clock.ts';

/** Nobody reads faster than this. In characters a second. */
const FAST = 1500;
/** A text that grows faster is shown this often: each time, nearly every line of it is written to the terminal. */
const SLOW_MS = 1500;

/** Decides when streaming text is drawn: at once, or at intervals if it grows faster than anyone can read. */
export class RenderThrottle {
  readonly #clock: Clock;
  readonly #show: () => void;
  #later: Disposable | undefined;
  #at = 0;
  /** How many characters came within about the last second. */
  #rate = 0;

  constructor(clock: Clock, show: () => void) {
    this.#clock = clock;
    this.#show = show;
  }

  grew(characters: number): void {
    const now = this.#clock.monotonic();
    this.#rate = this.#rate * Math.exp((this.#at - now) / 1000) + characters;
    this.#at = now;
    if (this.#rate < FAST) this.now();
    else this.#later ??= this.#clock.after(SLOW_MS, () => this.now());
  }

  now(): void {
    this.stop();
    this.#show();
  }

  /** Shows nothing that is not shown yet. */
  stop(): void {
    this.#later?.[Symbol.dispose]();
    this.#later = undefined;
  }
}
