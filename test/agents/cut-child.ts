import { PassThrough, Writable } from 'node:stream';
import type { Child } from '../../src/core/children/supervisor.ts';

export const never = new Promise<never>(() => undefined);

/** The pipes of an agent, as the process that holds them keeps them between two servers. */
export class HeldPipes {
  /** All that the agent has written. */
  written = Buffer.alloc(0);
  /** The offset before which no output is kept. */
  acknowledged = 0;
  readonly #keys = new Set<string>();

  write(part: Buffer): void {
    this.written = Buffer.concat([this.written, part]);
  }

  /** Whether the agent's input takes a message: it takes each key once. */
  takes(key: string): boolean {
    if (this.#keys.has(key)) return false;
    if (key !== '') this.#keys.add(key);
    return true;
  }

  acknowledge(upTo: number): void {
    this.acknowledged = Math.max(this.acknowledged, upTo);
  }

  /** Returns the output from an offset on. */
  outputFrom(at: number): Buffer {
    if (at < this.acknowledged)
      throw new Error(
        `the output before ${this.acknowledged} is gone, but is needed from ${at} on`,
      );
    return this.written.subarray(at);
  }
}

/** The output of a child as a server reads it, by one iteration. */
export class ReadOutput extends PassThrough {
  /** The number of bytes whose lines were handled. */
  handled = 0;

  override async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, undefined> {
    try {
      for (;;) {
        const chunk = this.read() as Buffer | null;
        if (chunk) {
          yield chunk;
          this.handled += chunk.length;
        } else if (this.readableEnded) return undefined;
        else await new Promise((resolve) => this.once('readable', resolve));
      }
    } finally {
      // Nobody reads any more.
      this.handled = Infinity;
    }
  }
}

/** Returns a child that writes what is written to `stdout`. */
export function childWith(stdout: PassThrough, onLine: (line: string) => unknown): Child {
  const hear = (text: string) => {
    for (const line of text.split('\n')) if (line !== '') onLine(line);
  };
  const stdin = new Writable({
    write: (part: Buffer, _encoding, done) => {
      hear(part.toString());
      done();
    },
  });
  return {
    pid: 1,
    outlives: true,
    sandbox: null,
    stdin,
    stdout,
    stderr: new PassThrough(),
    exited: never,
    rest: never,
    writeInput: async (message) => hear(message),
    acknowledge: () => undefined,
    endOutputs: () => false,
    forget: () => undefined,
    end: async () => [],
  };
}
