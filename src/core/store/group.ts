import type { Member } from './transaction.ts';

/** The transactions of one turn of the event loop: they share one COMMIT and one sync. */
export class Group {
  readonly #done = Promise.withResolvers<void>();
  /** Resolves when the group is on disk; rejects if it was rolled back. */
  readonly done = this.#done.promise;
  readonly firstSeq: number;
  /** The newest sequence number at the time of the commit. */
  lastSeq: number;
  /** The number of WAL writes before the group began; a group without a write needs no sync of its own. */
  readonly writesBefore: number;
  /** Its transactions that succeeded, in order. */
  readonly members: Member[] = [];

  constructor(seq: number, writesBefore: number) {
    this.firstSeq = seq;
    this.lastSeq = seq;
    this.writesBefore = writesBefore;
    // Each member reports the failure by its own promise.
    this.done.catch(() => undefined);
  }

  /**
   * Reports that the group is on disk: passes the announced items to the listeners, resolves the members, runs their
   * effects. A listener or an effect that throws does not stop the others: it is a bug, and the group is on disk nevertheless.
   */
  settle(
    listeners: readonly ((items: unknown[]) => void)[],
    onWarning: (message: string, error: unknown) => void = () => undefined,
  ): void {
    const items = this.members.flatMap(({ announced }) => announced);
    const calls = listeners.map((listener) => () => listener(items));
    if (items.length > 0)
      runAll(calls, (error) => onWarning('a listener of the store failed', error));
    this.#done.resolve();
    for (const { whenDurable } of this.members)
      runAll(whenDurable, (error) => onWarning('the effect of a stored transaction failed', error));
  }

  fail(error: unknown): void {
    this.#done.reject(error);
  }
}

/** Undoes the changes of a lost transaction to memory, latest first. An undo that throws does not stop the others. */
export function undo({ whenLost }: Member, onError: (error: unknown) => void): void {
  runAll(whenLost.toReversed(), onError);
}

function runAll(steps: readonly (() => void)[], onError: (error: unknown) => void): void {
  for (const step of steps) {
    try {
      step();
    } catch (error) {
      onError(error);
    }
  }
}
