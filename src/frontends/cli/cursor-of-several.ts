import { z } from 'zod';
import { fileOf, linesBehind, readCursor, sizeOf, writeCursor } from './cursor-file.ts';

const content = z.object({
  /** Where a reader of all servers goes on. */
  cursor: z.string(),
  /** The length of the output at that time; null where the output is not a regular file. */
  bytes: z.int().nullable(),
});

/**
 * The cursor of a reader of several logs, kept in one file. Where the output is a regular file, its content decides, as
 * with one log (cursor-file.ts): a line written after the cursor was saved is not written again.
 */
export class CursorOfSeveral {
  readonly #file: string;
  readonly #output: number | null;
  readonly #start: z.output<typeof content> | null;
  /** The newest event of each server behind the saved length. */
  readonly #written: ReadonlyMap<string, number>;
  #cursor: (() => string) | undefined;
  #saved: NodeJS.Immediate | undefined;

  /** `output` is the descriptor that lines are written to; null where the output has none. */
  constructor(file: string, output: number | null) {
    this.#file = file;
    this.#output = fileOf(output);
    this.#start = readCursor(file, content);
    const lines =
      this.#output === null ? [] : linesBehind(this.#output, this.#start?.bytes ?? null);
    this.#written = new Map(lines.flatMap(placeOf));
  }

  /** Where to go on; null before the first event. */
  get start(): string | null {
    return this.#start?.cursor ?? null;
  }

  /** Whether the line of an event is in the output already. */
  has(node: string, seq: number): boolean {
    return seq <= (this.#written.get(node) ?? -1);
  }

  /** Moves the cursor to what it says in this turn of the event loop, and saves it then. */
  moveTo(cursor: () => string): void {
    this.#cursor = cursor;
    this.#saved ??= setImmediate(() => this.save());
  }

  save(): void {
    if (this.#saved) clearImmediate(this.#saved);
    this.#saved = undefined;
    if (this.#cursor)
      writeCursor(this.#file, { cursor: this.#cursor(), bytes: sizeOf(this.#output) });
  }
}

/** The server and the seq at the start of a line of several servers, as text or JSON; none for any other line. */
function placeOf(line: string): [node: string, seq: number][] {
  const [, json, text, seq] = /^(?:\{"node":"([^"]+)","seq":|(\S+) +)(\d+)/.exec(line) ?? [];
  const node = json ?? text;
  return node === undefined || seq === undefined ? [] : [[node, Number(seq)]];
}
