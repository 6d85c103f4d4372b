import { Readable } from 'node:stream';
import { systemClock } from '../../lib/clock.ts';
import type { HeldRange, OutputNumber, ShimMessage } from './frames.ts';

/** So much of an output is kept until it is acknowledged. Then the child waits, unless its reader asks for more. */
export const KEPT_BYTES = 4 * 1024 * 1024;
/** A reader that waits for the end of a long line may ask for more, up to this. */
const MOST_BYTES = 36 * 1024 * 1024;
const PAGE_BYTES = 16 * 1024;
/** An output that other processes hold open is over once this many checks in a row, every `CHECK_MS`, have found no more of it. */
const QUIET_CHECKS = 3;
const CHECK_MS = 10;

/** A connection to a server. */
interface Server {
  /** Whether the connection takes no more output for now. */
  readonly isFull: boolean;
  send(message: ShimMessage): void;
  sendOutput(child: number, stream: OutputNumber, offset: number, bytes: Buffer): void;
}

/**
 * An output of a child in the shim: the bytes that nobody has acknowledged. They are in pages of one size, so that many small
 * writes take no more memory.
 */
export class HeldOutput {
  readonly #number: OutputNumber;
  readonly #source: Readable;
  readonly #pages: Buffer[] = [];
  /** The offset of the first page. */
  #base = 0;
  #oldest = 0;
  #newest = 0;
  #sent = 0;
  #limit = KEPT_BYTES;
  isEndSent = false;

  constructor(number: OutputNumber, source: Readable) {
    this.#number = number;
    this.#source = source;
  }

  get range(): HeldRange {
    return { oldest: this.#oldest, newest: this.#newest };
  }

  keep(onChange: () => void): void {
    this.#source.on('error', () => undefined);
    this.#source.on('close', onChange);
    this.#source.on('data', (chunk: Buffer) => {
      for (let at = 0; at < chunk.length;) at += this.#append(chunk, at);
      this.#balance();
      onChange();
    });
  }

  #append(chunk: Buffer, at: number): number {
    const used = this.#newest - this.#base;
    if (used === this.#pages.length * PAGE_BYTES)
      this.#pages.push(Buffer.allocUnsafeSlow(PAGE_BYTES));
    const count = chunk.copy(this.#pages.at(-1) as Buffer, used % PAGE_BYTES, at);
    this.#newest += count;
    return count;
  }

  acknowledge(upTo: number): void {
    if (!(upTo <= this.#sent)) throw new Error('an acknowledgement of bytes that were not sent');
    this.#oldest = Math.max(this.#oldest, upTo);
    while (this.#base + PAGE_BYTES <= this.#oldest) {
      this.#pages.shift();
      this.#base += PAGE_BYTES;
    }
    if (this.#newest - this.#oldest < KEPT_BYTES) this.#limit = KEPT_BYTES;
    this.#balance();
  }

  allowMore(): void {
    this.#limit = Math.min(this.#limit + KEPT_BYTES, MOST_BYTES);
    this.#balance();
  }

  #balance(): void {
    const isFull = this.#newest - this.#oldest >= this.#limit;
    if (isFull) this.#source.pause();
    else if (this.#source.isPaused()) this.#source.resume();
  }

  /** Continues at an offset. The bytes before it are handled. */
  continueAt(offset: number): void {
    if (!(offset >= this.#oldest && offset <= this.#newest))
      throw new Error('an offset that is not held');
    this.#sent = offset;
    this.acknowledge(offset);
  }

  send(server: Server, child: number): void {
    while (this.#sent < this.#newest && !server.isFull) {
      const at = this.#sent - this.#base;
      const page = this.#pages[Math.floor(at / PAGE_BYTES)] as Buffer;
      const from = at % PAGE_BYTES;
      const bytes = page.subarray(from, from + Math.min(PAGE_BYTES, this.#newest - this.#sent));
      server.sendOutput(child, this.#number, this.#sent, bytes);
      this.#sent += bytes.length;
    }
    if (this.isEndSent || this.#sent < this.#newest || !this.#source.destroyed) return;
    this.isEndSent = true;
    server.send({ type: 'closed', child, stream: this.#number });
  }

  close(): void {
    this.#source.destroy();
  }

  /** Ends the output once nothing more comes. */
  endWhenQuiet(seen = this.#newest, quiet = 0): void {
    if (this.#source.destroyed) return;
    if (quiet === QUIET_CHECKS) return void this.#source.destroy();
    // Behind the events of the pipe that are due, because the exit may be known before the last output is read.
    systemClock.after(CHECK_MS, () =>
      setImmediate(() => {
        const isQuiet = seen === this.#newest && !this.#source.isPaused();
        this.endWhenQuiet(this.#newest, isQuiet ? quiet + 1 : 0);
      }),
    );
  }

  detach(): void {
    this.isEndSent = false;
    this.#limit = KEPT_BYTES;
  }
}

/** A message of the server about an output. */
export type OutputMessage = { type: 'ack'; up_to: number } | { type: 'more' } | { type: 'close' };

/** The same output in the server. */
export class ReceivedOutput extends Readable {
  isOver = false;
  readonly #send: (message: OutputMessage) => void;
  readonly #isHandledWhenRead: boolean;
  /** The offsets up to which output has come, was handled, and was acknowledged. */
  #received: number;
  #handled: number;
  #acknowledged: number;
  /** So much is sent without an acknowledgement. */
  #limit = KEPT_BYTES;

  constructor(send: (message: OutputMessage) => void, from: number, isHandledWhenRead = false) {
    // Without a buffer to fill, `_read` is called when the reader has all that has come, and waits.
    super({ highWaterMark: 0 });
    this.#send = send;
    this.#isHandledWhenRead = isHandledWhenRead;
    this.#received = from;
    this.#handled = from;
    this.#acknowledged = from;
  }

  receive(bytes: Buffer): void {
    this.#received += bytes.length;
    if (!this.destroyed) this.push(bytes);
  }

  complete(): void {
    this.isOver = true;
    if (!this.destroyed) this.push(null);
  }

  acknowledge(upTo: number): void {
    this.#handled = Math.max(this.#handled, upTo);
    if (this.#handled - this.#acknowledged < PAGE_BYTES) return;
    this.#acknowledged = this.#handled;
    if (this.#received - this.#acknowledged < KEPT_BYTES) this.#limit = KEPT_BYTES;
    this.#send({ type: 'ack', up_to: this.#acknowledged });
  }

  override _read(): void {
    if (this.#isHandledWhenRead) return this.acknowledge(this.#received - this.readableLength);
    if (this.#received - this.#acknowledged < this.#limit) return;
    this.#limit += KEPT_BYTES;
    this.#send({ type: 'more' });
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.isOver) this.#send({ type: 'close' });
    done(error);
  }
}
