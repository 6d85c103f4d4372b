import type { Readable } from 'node:stream';
import { errorMessage } from '../core/lib/error-message.ts';
import { plain } from '../core/lib/plain.ts';
import { yieldToEventLoop } from '../core/lib/slices.ts';
import { BoundedLine } from './bounded-line.ts';

/** The longest line. A longer one ends the connection. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024;
/** The longest line of an agent that serves many sessions: only the session that it is for is lost. */
export const MAX_SHARED_LINE_BYTES = 8 * MAX_LINE_BYTES;
/** So many lines are handled before other tasks of the server run, and one that is longer than this. */
const MAX_LINES_IN_A_ROW = 16;
const LONG_LINE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;
/** The connection ends after this number of consecutive lines that are not messages. */
const MAX_OTHER_LINES = 1000;
/** So many of the last of these lines are kept, to explain a failure. */
const MAX_KEPT_LINES = 5;

/** How far the output of an agent has been read. */
export interface ReadProgress {
  /** Resolves when the output has ended and all of it was handled: with the error that ended it, or null. */
  readonly ended: Promise<string | null>;
  /** A number that grows while output comes or is being handled. */
  progress(): number;
}

/** The part of an agent's output that is read. */
export interface LinesRange {
  /** The longest line. */
  maxBytes?: number | undefined;
  /** The offset of the first line. It is not 0 if an earlier server has read the output up to there. */
  from?: number | undefined;
}

/**
 * Calls `take` for the lines of an agent's output, one after the other. An error that `take` throws ends the reading.
 * Other tasks run after a few lines, and after each long line.
 */
export function readJsonLines(
  stdout: Readable,
  take: (line: BoundedLine) => Promise<void> | undefined,
  range: LinesRange = {},
): ReadProgress {
  let count = 0;
  let inARow = 0;
  let isBusy = false;
  async function* chunks(): AsyncIterable<Buffer> {
    for await (const chunk of stdout as AsyncIterable<Buffer>) {
      count++;
      yield chunk;
    }
  }
  const read = async (): Promise<string | null> => {
    try {
      for await (const line of linesOf(chunks(), range)) {
        isBusy = true;
        await take(line);
        if (++inARow >= MAX_LINES_IN_A_ROW || line.bytes > LONG_LINE_BYTES) {
          await yieldToEventLoop();
          inARow = 0;
        }
        isBusy = false;
      }
      return null;
    } catch (error) {
      return errorMessage(error);
    } finally {
      isBusy = false;
    }
  };
  return { ended: read(), progress: () => (isBusy ? ++count : count) };
}

/** Counts lines that are not messages. A few are skipped, such as the greeting of a shell's profile. */
export class NonProtocolOutput {
  /** The last such line; empty where there was none. */
  last = '';
  /** The last few such lines since they were forgotten. */
  #recent: string[] = [];
  #inARow = 0;

  /** The last such lines as one, without control sequences; empty where there were none. */
  get text(): string {
    return this.#recent.join(' | ');
  }

  /** Leaves out of {@link text} what was written so far. */
  forget(): void {
    this.#recent = [];
  }

  /** Throws Error after too many in a row. */
  note(line: string): void {
    this.last = line.slice(0, 200);
    const readable = plain(this.last).trim();
    if (readable !== '') this.#recent = [...this.#recent, readable].slice(-MAX_KEPT_LINES);
    if (++this.#inARow < MAX_OTHER_LINES) return;
    throw new Error(
      `the agent sent ${MAX_OTHER_LINES} lines in a row that are not JSON: ${this.last}`,
    );
  }

  save() {
    return { last: this.last, recent: this.#recent, inARow: this.#inARow };
  }

  restore({ last, recent, inARow }: ReturnType<NonProtocolOutput['save']>): void {
    this.last = last;
    this.#recent = recent;
    this.#inARow = inARow;
  }

  /** To be called for each message. */
  reset(): void {
    this.#inARow = 0;
  }
}

/** The lines of a stream, each as far as it is kept. Throws Error for one of more than `maxBytes`. */
export async function* linesOf(
  stream: AsyncIterable<Buffer>,
  { maxBytes = MAX_LINE_BYTES, from: offset = 0 }: LinesRange = {},
): AsyncIterable<BoundedLine> {
  let line = new BoundedLine(offset);
  const grow = (part: Buffer) => {
    line.add(part);
    if (line.bytes > maxBytes)
      throw new Error(`the agent sent a line of more than ${maxBytes} bytes`);
  };
  for await (const chunk of stream) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      grow(chunk.subarray(from, at));
      yield line;
      line = new BoundedLine(line.end);
      from = at + 1;
    }
    grow(chunk.subarray(from));
  }
  // A rest without a line end is not a line.
}
