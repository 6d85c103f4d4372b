/** Runs what has one name one after the other, in the order in which it came. */
export class OneAtATime {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const running = (async () => {
      await before;
      return work();
    })();
    const settled = running.catch(() => undefined);
    this.#last.set(name, settled);
    try {
      return await running;
    } finally {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    }
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
