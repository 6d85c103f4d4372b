/**
 * The capability to read rows. `read`, `peek` and `transact` pass one to their function, and it expires when that
 * function returns, because a row that is read later could be rolled back.
 */
export class Reader {
  #hasEnded = false;

  /** Throws once the function that received it has returned. */
  assertRuns(): void {
    if (this.#hasEnded) throw new Error('rows were read or written after their transaction ended');
  }

  /** Ends the capability; only the store calls this, when the function has returned. */
  end(): void {
    this.#hasEnded = true;
  }
}

export interface Sequence {
  last: number;
}

/** The part of a transaction that its group needs. */
export interface Member {
  /** The items for the store's listeners, in order, once the group is on disk. */
  readonly announced: unknown[];
  readonly whenDurable: (() => void)[];
  readonly whenLost: (() => void)[];
}

/** The capability to write rows. `transact` passes one to its function; every change of rows requires it. */
export class Writer extends Reader {
  readonly #sequence: Sequence;
  readonly #member: Member;

  constructor(sequence: Sequence, member: Member) {
    super();
    this.#sequence = sequence;
    this.#member = member;
  }

  /** The number of the sequence that was given last. */
  get lastSeq(): number {
    this.assertRuns();
    return this.#sequence.last;
  }

  /** Returns the next number of the one sequence, which is reused if the transaction fails. */
  nextSeq(): number {
    this.assertRuns();
    return ++this.#sequence.last;
  }

  skipSeqs(count: number): void {
    this.assertRuns();
    this.#sequence.last += count;
  }

  /** Passes `item` to the store's listeners once the transaction is on disk; it is dropped if the transaction fails. */
  announce(item: unknown): void {
    this.assertRuns();
    this.#member.announced.push(item);
  }

  /** Runs `effect` once the transaction is on disk, before the promise of `transact` resolves. */
  whenDurable(effect: () => void): void {
    this.assertRuns();
    this.#member.whenDurable.push(effect);
  }

  /**
   * Runs `undo` if the transaction is rolled back, by itself or with its group; the latest `undo` runs first. It is for
   * memory that has to agree with rows. After a failed sync nothing is undone, because the process ends.
   */
  whenLost(undo: () => void): void {
    this.assertRuns();
    this.#member.whenLost.push(undo);
  }
}

/** Throws unless `tx` is the writer of a running transaction. */
export function assertWriter(tx: Writer): void {
  if (!(tx instanceof Writer)) throw new Error('rows were written outside a transaction');
  tx.assertRuns();
}

/** Throws unless `rx` is the reader or writer of a running `read`, `peek` or `transact`. */
export function assertReader(rx: Reader): void {
  if (!(rx instanceof Reader))
    throw new Error('rows were read outside a call of read, peek or transact');
  rx.assertRuns();
}

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

/** Runs all steps, even if some throw. */
export function runAll(steps: readonly (() => void)[], onError: (error: unknown) => void): void {
  for (const step of steps) {
    try {
      step();
    } catch (error) {
      onError(error);
    }
  }
}

/** Marks the time in which a function reads or writes rows: a transaction that is started inside it throws. */
export class ReentryGuard {
  isRunning = false;

  run<T>(fn: () => T): T {
    if (this.isRunning) return fn();
    this.isRunning = true;
    try {
      return fn();
    } finally {
      this.isRunning = false;
    }
  }
}

/** Returns a function that runs `fn`, and then `andThen` with its result. */
export function followedBy<T>(fn: (tx: Writer) => T, andThen: (tx: Writer, result: T) => void) {
  return (tx: Writer): T => {
    const result = fn(tx);
    andThen(tx, result);
    return result;
  };
}
