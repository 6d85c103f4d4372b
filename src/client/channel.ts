/**
 * A channel from several writers to one reader: values in the order of their arrival. Writers wait until the reader takes
 * their values.
 */
export class Channel<T> implements AsyncIterable<T> {
  readonly #waiting: { value: T; taken: () => void }[] = [];
  #wake: (() => void) | undefined;
  #writers = 0;
  #failure: { error: unknown } | undefined;

  /** Adds a writer. The reader ends after the last one, and throws what any of them throws. */
  add(write: () => Promise<void>): void {
    this.#writers++;
    write()
      .catch((error: unknown) => (this.#failure ??= { error }))
      .finally(() => {
        this.#writers--;
        this.#wake?.();
      });
  }

  /** Resolves once the reader has taken the value: a writer that awaits it reads no further than the reader. */
  put(value: T): Promise<void> {
    return new Promise((taken) => {
      this.#waiting.push({ value, taken });
      this.#wake?.();
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) {
        next.taken();
        yield next.value;
      } else if (this.#failure) throw this.#failure.error;
      else if (this.#writers === 0) return;
      else await this.#woken();
    }
  }

  async #woken(): Promise<void> {
    await new Promise<void>((wake) => (this.#wake = wake));
    this.#wake = undefined;
  }
}
