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
   * Reports that the group is on disk: passes on the announced items, resolves the members, runs their effects. An
   * effect that throws does not stop the others.
   */
  settle(announce: (items: unknown[]) => void, onError: (error: unknown) => void): void {
    const items = this.members.flatMap(({ announced }) => announced);
    if (items.length > 0) announce(items);
    this.#done.resolve();
    for (const { whenDurable } of this.members) runAll(whenDurable, onError);
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
