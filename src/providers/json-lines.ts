import type { Readable } from 'node:stream';
import { plain } from '../lib/plain.ts';

/** The longest line that is read. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
/** The longest line that can be passed over. A longer one ends the connection. */
const MAX_SKIPPED_BYTES = 8 * MAX_LINE_BYTES;
/** So much of each end of a line that is passed over is kept, to find out what the line was for. */
const KEPT_BYTES = 4096;
const NEWLINE = 0x0a;
/** The connection ends after so many lines in a row that are no message. */
const MAX_STRAY_LINES = 1000;
/** So many of them are kept, to explain a failure. */
const MAX_STRAYS_KEPT = 5;

/** How far the output of an agent has been read. */
export interface Heard {
  /** Resolves when the output has ended and all of it was handled: with the error that ended it, or null. */
  readonly ended: Promise<string | null>;
  /** A number that grows while output comes or is being handled. */
  progress(): number;
}

/** Has `take` handle the lines of an agent's output, one after the other. What `take` throws ends the reading. */
export function hearLines(
  stdout: Readable,
  take: (line: string) => Promise<void> | undefined,
  onTooLong?: (head: string, tail: string) => void,
): Heard {
  let count = 0;
  let isBusy = false;
  async function* chunks(): AsyncIterable<Buffer> {
    for await (const chunk of stdout as AsyncIterable<Buffer>) {
      count++;
      yield chunk;
    }
  }
  const read = async (): Promise<string | null> => {
    try {
      for await (const line of linesOf(chunks(), onTooLong)) {
        isBusy = true;
        await take(line);
        isBusy = false;
      }
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      isBusy = false;
    }
  };
  return { ended: read(), progress: () => (isBusy ? ++count : count) };
}

/** Counts lines that are no message. A few are passed over, such as the greeting of a shell's profile. */
export class StrayLines {
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
    if (readable !== '') this.#recent = [...this.#recent, readable].slice(-MAX_STRAYS_KEPT);
    if (++this.#inARow < MAX_STRAY_LINES) return;
    throw new Error(`it wrote ${MAX_STRAY_LINES} lines in a row that are no JSON: ${this.last}`);
  }

  /** To be called for each message. */
  reset(): void {
    this.#inARow = 0;
  }
}

/**
 * The lines of a stream. Throws Error for a line that is too long, unless there is `onTooLong`: then that line is
 * passed over, and `onTooLong` is called with its two ends.
 */
export async function* linesOf(
  stream: AsyncIterable<Buffer>,
  onTooLong?: (head: string, tail: string) => void,
): AsyncIterable<string> {
  const limit = onTooLong ? MAX_SKIPPED_BYTES : MAX_LINE_BYTES;
  let line = new Line();
  const grow = (part: Buffer) => {
    line.add(part);
    if (line.bytes > limit) throw new Error(`a line of it exceeds ${limit} bytes`);
  };
  for await (const chunk of stream) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      grow(chunk.subarray(from, at));
      if (line.head === null) yield line.text;
      else onTooLong?.(line.head, line.text);
      line = new Line();
      from = at + 1;
    }
    grow(chunk.subarray(from));
  }
  // The rest has no line end, so it is no line.
}

/** The JSON value of a line; undefined where the line is no JSON. */
export function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** A line that grows. Only the two ends of a line that is too long are kept. */
class Line {
  bytes = 0;
  /** The beginning of a line that is too long. */
  head: string | null = null;
  #parts: Buffer[] = [];

  add(part: Buffer): void {
    this.#parts.push(part);
    this.bytes += part.length;
    if (this.bytes <= MAX_LINE_BYTES) return;
    const all = Buffer.concat(this.#parts);
    this.head ??= all.toString('utf8', 0, KEPT_BYTES);
    this.#parts = [Buffer.from(all.subarray(-KEPT_BYTES))];
  }

  /** The whole line, or the end of a line that is too long. */
  get text(): string {
    return Buffer.concat(this.#parts).toString('utf8');
  }
}
