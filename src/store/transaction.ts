/**
 * The capability to read rows. `read`, `peek` and `transact` hand one to their function, and it ends with that function: a
 * row that is read later could be rolled back.
 */
export class Reader {
  #hasEnded = false;

  /** Throws once the function that it was handed to has returned. */
  assertRuns(): void {
    if (this.#hasEnded) throw new Error('rows were read or written after their transaction ended');
  }

  /** For the store alone: the function has returned. */
  end(): void {
    this.#hasEnded = true;
  }
}

/** The counter of the one sequence. */
export interface Sequence {
  last: number;
}

/** What one transaction hands to its group. */
export interface Member {
  /** For the listeners, once the group is on disk, in order. */
  readonly announced: unknown[];
  readonly whenDurable: (() => void)[];
  readonly whenLost: (() => void)[];
}

/** The capability to write rows. `transact` hands one to its function; every function that changes rows asks for it. */
export class Writer extends Reader {
  readonly #sequence: Sequence;
  readonly #member: Member;

  constructor(sequence: Sequence, member: Member) {
    super();
    this.#sequence = sequence;
    this.#member = member;
  }

  /** The next number of the one sequence; it is given back where the transaction fails. */
  nextSeq(): number {
    this.assertRuns();
    return ++this.#sequence.last;
  }

  /** Leaves out `count` numbers of the sequence. */
  skipSeqs(count: number): void {
    this.assertRuns();
    this.#sequence.last += count;
  }

  /** Hands `item` to the listeners of the store once the transaction is on disk; it is dropped where that fails. */
  announce(item: unknown): void {
    this.assertRuns();
    this.#member.announced.push(item);
  }

  /** Runs `effect` once the transaction is on disk, before its caller goes on. */
  whenDurable(effect: () => void): void {
    this.assertRuns();
    this.#member.whenDurable.push(effect);
  }

  /**
   * Runs `undo` where the transaction is rolled back, by itself or with its group; the latest `undo` runs first. It is
   * for memory that has to agree with rows. After a failed sync nothing is undone: the process ends.
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
  if (!(rx instanceof Reader)) throw new Error('rows were read outside read, peek and transact');
  rx.assertRuns();
}
