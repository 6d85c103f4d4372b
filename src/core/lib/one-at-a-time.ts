/** A mutex for each name: tasks with the same name run one after the other, in the order of the calls. */
export class OneAtATime {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` once every earlier task with this name has settled. Settles as `work` does. */
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

  /** Resolves when no task runs or waits. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
