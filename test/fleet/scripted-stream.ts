import { append } from '../support/fleet/mirroring.ts';
import { testStore } from '../support/memory-store.ts';
import { type Batch, type MirrorStream, Refused } from '../../src/fleet/nats-mirror-stream.ts';
import { isMark, type MirroredMessage, stays } from '../../src/fleet/mirrored.ts';
import type { Arrived, From, ReaderStream } from '../../src/fleet/nats-reader-stream.ts';

/** The outcome of a batch: stored and acknowledged, only stored, stored later, or lost. */
export type BatchOutcome = 'answered' | 'unanswered' | 'late' | 'lost';

/** A stream in memory that keeps the fence of NATS, and fails as a test says. */
export class ScriptedStream {
  /** The stored messages, in order. */
  messages: MirroredMessage[] = [];
  id = 'stream_a';
  /** Asked for each batch. */
  outcome: () => BatchOutcome = () => 'answered';
  /** Asked for each head: how many of the newest messages the answer does not know yet. */
  staleBy: () => number = () => 0;
  refused = 0;
  #last = 0;
  /** The number of the newest message that retention took. */
  #retired = 0;
  readonly #late: (() => void)[] = [];
  #wake = Promise.withResolvers<void>();
  #readings = new Set<() => void>();

  /** The number of the newest message that was ever stored. */
  get last(): number {
    return this.#last;
  }

  /** The stream as the mirror of a node has it. */
  of(node: string): MirrorStream {
    return {
      id: async () => this.id,
      mayHaveRetired: async (streamSeq) => (streamSeq ?? 0) <= this.#retired,
      head: async () => this.#head(node),
      publish: async (batch) => this.#publish(node, batch),
    };
  }

  /** Stores the delayed messages. */
  deliverLate(): void {
    for (const store of this.#late.splice(0)) store();
  }

  /** Loses the newest messages, although they are acknowledged, and all pending ones. */
  setBack(count: number): void {
    this.#late.length = 0;
    this.messages.splice(Math.max(0, this.messages.length - count));
    this.#last = this.messages.at(-1)?.streamSeq ?? 0;
    this.interrupt();
  }

  /** Removes the oldest messages, as the retention of a stream does. */
  trim(count: number): void {
    this.#retired = this.messages.splice(0, count).at(-1)?.streamSeq ?? this.#retired;
  }

  /** Removes all messages. */
  purge(): void {
    this.messages.length = 0;
  }

  /** Ends all reads, as a lost connection does. */
  interrupt(): void {
    for (const end of this.#readings) end();
  }

  /** Returns the stream for a reader. */
  reader(): ReaderStream {
    return {
      info: async () => ({
        id: this.id,
        first: this.messages[0]?.streamSeq ?? this.#last + 1,
        last: this.#last,
        bytes: 0,
        maxBytes: 0,
      }),
      idAt: async (seq) => this.messages.find(({ streamSeq }) => streamSeq === seq)?.id ?? null,
      read: (from, options) => this.#read(from, options),
    };
  }

  #head(node: string): MirroredMessage | null {
    const known = this.messages.slice(0, this.messages.length - this.staleBy());
    return known.findLast((message) => message.node === node) ?? null;
  }

  #publish(node: string, batch: Batch): number {
    const outcome = this.outcome();
    if (outcome === 'lost') throw new Error('no answer');
    if (outcome === 'late') {
      this.#late.push(() => {
        if (this.#newestOf(node) === batch.expected) this.#store(node, batch);
      });
      throw new Error('no answer');
    }
    if (this.#newestOf(node) !== batch.expected) {
      this.refused++;
      throw new Refused('wrong last sequence');
    }
    this.#store(node, batch);
    if (outcome === 'unanswered') throw new Error('no answer');
    return this.#last;
  }

  #newestOf(node: string): number {
    return this.messages.findLast((message) => message.node === node)?.streamSeq ?? 0;
  }

  #store(node: string, { epoch, prev, drafts }: Batch): void {
    let link = prev;
    for (const { kind, seq, text } of drafts) {
      const id = isMark(kind) ? null : (JSON.parse(text) as { id: string }).id;
      const streamSeq = ++this.#last;
      this.messages.push({ streamSeq, node, kind, epoch, seq, prev: link, id, text });
      if (stays(kind)) link = seq;
    }
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  async *#read(
    from: From,
    { follow, signal }: { follow: boolean; signal: AbortSignal },
  ): AsyncGenerator<Arrived> {
    const isOver = Promise.withResolvers<void>();
    let ended = false;
    const end = () => {
      ended = true;
      isOver.resolve();
    };
    this.#readings.add(end);
    signal.addEventListener('abort', end);
    try {
      let after = 'after' in from ? from.after : 0;
      while (!ended && !signal.aborted) {
        const message = this.messages.find(({ streamSeq }) => streamSeq > after);
        if (message) {
          after = message.streamSeq;
          yield { message, at: after };
        } else if (follow) await Promise.race([this.#wake.promise, isOver.promise]);
        else return;
      }
    } finally {
      this.#readings.delete(end);
      signal.removeEventListener('abort', end);
    }
  }
}

/** A log with so many events, and an empty stream for its mirror. */
export async function testLog(count = 0) {
  const store = await testStore();
  if (count > 0) await append(store, count);
  return { store, stream: new ScriptedStream() };
}
