/**
 * Number of delivery rounds in a row before a hook is throttled. A round delivers the events since the hook was last up to
 * date.
 */
const BURST = 60;
/** Time until a throttled hook gets one more round, in ms. */
const REFILL_MS = 1000;

/**
 * Limits a hook whose own effects cause events that match it. All events up to one moment are a round, and are delivered
 * as fast as the hook accepts them; their consequences are part of a later round. Rounds begin 60 times in a row,
 * and then once a second. So a loop is slow, and a hook that is merely behind is not.
 */
export class Throttle {
  #left = BURST;
  #at: number;
  #slowedAt: number | null = null;

  /** `now`: monotonic ms. */
  constructor(now: number) {
    this.#at = now;
  }

  /** Since when rounds have had to wait, in monotonic ms; null: they need not. */
  get slowedAt(): number | null {
    return this.#slowedAt;
  }

  /** Begins a round. Returns how long it has to wait before, in ms. */
  begin(now: number): number {
    this.#left = Math.min(BURST, this.#left + (now - this.#at) / REFILL_MS);
    this.#at = now;
    if (this.#left >= BURST - 1) this.#slowedAt = null;
    this.#left -= 1;
    if (this.#left >= 0) return 0;
    this.#slowedAt ??= now;
    return -this.#left * REFILL_MS;
  }
}
