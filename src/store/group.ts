import type { Member } from './transaction.ts';

/** The transactions of one turn of the event loop: they share one COMMIT and one sync. */
export class Group {
  readonly #done = Promise.withResolvers<void>();
  /** Resolves when the group is on disk; rejects where it was rolled back. */
  readonly done = this.#done.promise;
  readonly firstSeq: number;
  /** The newest number of the sequence when it was committed. */
  lastSeq: number;
  /** How often the WAL had been written to when the group began: what wrote nothing needs no sync of its own. */
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

  /** The group is on disk: passes on the announced items, answers the members, runs their effects. */
  settle(announce: (items: unknown[]) => void): void {
    const items = this.members.flatMap(({ announced }) => announced);
    if (items.length > 0) announce(items);
    this.#done.resolve();
    for (const { whenDurable } of this.members) for (const effect of whenDurable) effect();
  }

  fail(error: unknown): void {
    this.#done.reject(error);
  }
}

/** Undoes what a lost transaction had changed in memory, latest first. One that fails does not stop the others. */
export function undo({ whenLost }: Member, onError: (error: unknown) => void): void {
  for (const step of whenLost.toReversed()) {
    try {
      step();
    } catch (error) {
      onError(error);
    }
  }
}
