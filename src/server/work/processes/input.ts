import { PassThrough, type Writable } from 'node:stream';
import { AppError } from '../../../api/errors.ts';

/** How much of a process's input is held beside what its pipe holds, in bytes; beyond it, a sender waits. */
const HELD_BYTES = 64 * 1024;
/** From how many bytes of waiting senders on a further one is refused. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** The input of a process: what clients send is passed on in the order in which it came. */
export class ProcessInput {
  readonly #held = new PassThrough({ highWaterMark: HELD_BYTES });

  constructor() {
    this.#held.setMaxListeners(0);
    // Each sender is told of an error by its own write.
    this.#held.on('error', () => undefined);
  }

  /** Lets the process read what was sent before its start, and what will be. */
  connect(stdin: Writable): void {
    this.#held.pipe(stdin);
    stdin.once('close', () => this.close());
  }

  /** Refuses all further input, and that of the senders that wait. */
  close(): void {
    this.#held.destroy();
  }

  /**
   * Passes data on; with `eof` the process then reads the end of its input. Resolves once the data is passed on or held,
   * so that a sender is as fast as the process reads. Throws `conflict` if the process reads no more, `too_many` if too
   * much is waiting.
   */
  async write(data: Buffer, eof: boolean): Promise<void> {
    if (this.#held.writableEnded)
      throw new AppError(
        'conflict',
        'the input of the process was already closed, so no more input can be sent',
      );
    if (this.#held.writableLength > MAX_WAITING_BYTES)
      throw new AppError(
        'too_many',
        `the input that the process has not read yet exceeds ${MAX_WAITING_BYTES} bytes: wait for the response to an earlier write request`,
      );
    const taken = Promise.withResolvers<void>();
    const refuse = () => taken.reject(new AppError('conflict', 'the process has closed its input'));
    const done = (error?: Error | null) => (error ? refuse() : taken.resolve());
    // A stream that is destroyed does not call back for the write that it was at.
    this.#held.once('close', refuse);
    if (eof) this.#held.end(data, done);
    else this.#held.write(data, done);
    await taken.promise.finally(() => this.#held.off('close', refuse));
  }
}
