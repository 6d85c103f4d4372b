/**
 * A stack of resources that are closed in reverse order: Node's AsyncDisposableStack, which Node 22 does not have. All
 * resources are closed even if one throws; then the error is thrown, or an AggregateError of several.
 */
export class Undo implements AsyncDisposable {
  #steps: (() => unknown)[] = [];

  use<T extends Disposable | AsyncDisposable>(value: T): T {
    this.#steps.push(() =>
      Symbol.asyncDispose in value ? value[Symbol.asyncDispose]() : value[Symbol.dispose](),
    );
    return value;
  }

  /** Calls a function, and waits for what it returns. */
  defer(step: () => unknown): void {
    this.#steps.push(step);
  }

  /** Returns all of it, and keeps nothing. */
  move(): Undo {
    const moved = new Undo();
    [moved.#steps, this.#steps] = [this.#steps, []];
    return moved;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const errors: unknown[] = [];
    for (const step of this.#steps.splice(0).toReversed()) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 1)
      throw new AggregateError(errors, 'cadre failed to release several resources');
    if (errors.length === 1) throw errors[0];
  }
}
