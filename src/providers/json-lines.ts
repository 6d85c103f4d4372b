import type { Readable } from 'node:stream';

/** A line of an agent may be this long. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
/** A longer one may be passed over, up to here: what goes on for ever is no line. */
const MAX_SKIPPED_BYTES = 8 * MAX_LINE_BYTES;
/** So much is kept of each end of a line that is passed over, to tell what it was. */
const KEPT_BYTES = 4096;
const NEWLINE = 0x0a;
/** An agent may write so many lines in a row that are no message. */
const MAX_STRAY_LINES = 1000;

/** How far the output of an agent was read. */
export interface Heard {
  /** Resolves when it has ended and was handled: with what was wrong with it, or null. */
  readonly ended: Promise<string | null>;
  /** A number that grows as long as something comes or is being handled. */
  progress(): number;
}

/** Has `take` handle the lines of an agent's output, one after the other. What it throws is wrong with the output. */
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

/** Lines of an agent that are no message: a few are passed over, such as the greetings of a shell's profile. */
export class StrayLines {
  /** The last of them; empty where there was none. */
  last = '';
  #inARow = 0;

  /** Throws Error where there are too many in a row. */
  note(line: string): void {
    this.last = line.slice(0, 200);
    if (++this.#inARow < MAX_STRAY_LINES) return;
    throw new Error(`it wrote ${MAX_STRAY_LINES} lines in a row that are no JSON: ${this.last}`);
  }

  /** A message came. */
  reset(): void {
    this.#inARow = 0;
  }
}

/**
 * The lines of a stream. One that is too long ends it with an Error, unless `onTooLong` is there to be told of its
 * two ends: then it alone is passed over.
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
  // What is left has no end, so it is no line.
}

/** What a line says, as JSON; undefined where it is none. */
export function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** A line that grows. Of one that is too long only the ends stay. */
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

  /** All of it, or its end where it is too long. */
  get text(): string {
    return Buffer.concat(this.#parts).toString('utf8');
  }
}
