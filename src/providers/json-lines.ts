import type { Readable } from 'node:stream';

/** A line of an agent may be this long. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
/** A longer one may be passed over, up to here: what goes on for ever is no line. */
const MAX_SKIPPED_BYTES = 8 * MAX_LINE_BYTES;
/** So much is kept of each end of a line that is passed over, to tell what it was. */
const KEPT_BYTES = 4096;
const NEWLINE = 0x0a;

/**
 * The lines of a stream. One that is too long ends it with an Error, unless `onTooLong` is there to be told of its
 * two ends: then it alone is passed over.
 */
export async function* linesOf(
  stream: Readable,
  onTooLong?: (head: string, tail: string) => void,
): AsyncIterable<string> {
  const limit = onTooLong ? MAX_SKIPPED_BYTES : MAX_LINE_BYTES;
  let line = new Line();
  const grow = (part: Buffer) => {
    line.add(part);
    if (line.bytes > limit) throw new Error(`a line of it exceeds ${limit} bytes`);
  };
  for await (const chunk of stream as AsyncIterable<Buffer>) {
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
