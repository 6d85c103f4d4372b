import type { Model } from '../api/providers.ts';
import type { Clock } from '../core/lib/clock.ts';

/** A list of models is good for so long. */
const FRESH_MS = 600_000;

/** The models that an agent has listed, so that it is not asked for them each time. */
export class ModelCache<M extends Model = Model> {
  readonly #clock: Clock;
  #newest: { readonly models: readonly M[]; readonly at: number } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The newest list, however old; empty before the first. */
  get newest(): readonly M[] {
    return this.#newest?.models ?? [];
  }

  store(models: readonly M[]): void {
    this.#newest = { models, at: this.#clock.monotonic() };
  }

  /** The newest list, or what `load` gives where that list is more than ten minutes old. Rejects as `load` does. */
  async fresh(load: () => Promise<readonly M[]>): Promise<readonly M[]> {
    const isFresh = this.#newest && this.#clock.monotonic() - this.#newest.at <= FRESH_MS;
    if (!isFresh) this.store(await load());
    return this.newest;
  }
}
