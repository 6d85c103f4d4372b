import fs from 'node:fs';
import { z } from 'zod';
import { openAgain } from '../../core/children/descriptors.ts';
import { conflictError, usageError } from '../../api/errors.ts';
import { readSmallFile } from '../../core/lib/foreign-file.ts';
import { removeLeftDrafts, replaceFile } from '../../core/lib/replace-file.ts';

const content = z.object({
  epoch: z.string(),
  /** The last event that was written; -1 before the first. */
  seq: z.int(),
  /** The length of the output at that time; null where the output is not a regular file. */
  bytes: z.int().nullable(),
});

/** The last line of the output is searched in this many bytes at its end. */
const LAST_LINES_BYTES = 1024 * 1024;

/**
 * The cursor of a reader of the log, kept in a file, so that the reader continues there after whatever ended it. Where
 * the output is a regular file, its content decides: a line written after the cursor was saved is not written again,
 * and half a line at its end is removed. Through a pipe, events written just before a SIGKILL may come twice.
 */
export class CursorFile {
  readonly #file: string;
  readonly #output: number | null;
  #saved: NodeJS.Immediate | undefined;
  #state: z.output<typeof content> | null;

  /** `output` is the descriptor that lines are written to; null where the output has none. */
  constructor(file: string, output: number | null) {
    this.#file = file;
    this.#output = fileOf(output);
    this.#state = readCursor(file, content);
  }

  /** The seq to continue after; null before the first event. Throws `conflict` for the cursor of another log. */
  start(epoch: string): number | null {
    const saved = this.#state;
    if (saved && saved.epoch !== epoch) {
      throw conflictError(
        `the cursor file ${this.#file} belongs to another event log, because the data of the server was replaced: remove the file to start again`,
      );
    }
    const written = this.#output === null ? null : repairEnd(this.#output, saved?.bytes ?? null);
    const seq = Math.max(saved?.seq ?? -1, written ?? -1);
    this.#state = { epoch, seq, bytes: null };
    // Saves the length of the output, because everything behind it is written by this run.
    this.save();
    return seq < 0 ? null : seq;
  }

  /** Moves the cursor to an event that was written, and saves it in this turn of the event loop. */
  moveTo(seq: number): void {
    if (!this.#state) return;
    this.#state.seq = seq;
    this.#saved ??= setImmediate(() => this.save());
  }

  save(): void {
    if (this.#saved) clearImmediate(this.#saved);
    this.#saved = undefined;
    if (this.#state) writeCursor(this.#file, { ...this.#state, bytes: sizeOf(this.#output) });
  }
}

/** The size of an output; null without a file. */
export function sizeOf(output: number | null): number | null {
  return output === null ? null : fs.fstatSync(output).size;
}

/** The descriptor of an output that is a regular file; null for any other. */
export function fileOf(output: number | null): number | null {
  return output !== null && fs.fstatSync(output).isFile() ? output : null;
}

/** Writes a cursor, atomically. */
export function writeCursor(file: string, cursor: object): void {
  replaceFile(file, `${JSON.stringify(cursor)}\n`);
}

const MAX_BYTES = 64 * 1024;

/**
 * Returns the cursor in a file, and removes its old drafts; null if the file does not exist. Throws `usage` for a file
 * in another form.
 */
export function readCursor<T>(file: string, content: z.ZodType<T>): T | null {
  let text: string;
  try {
    text = readSmallFile(file, { maxBytes: MAX_BYTES }).text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw usageError(`cannot read ${file}: ${(error as Error).message}`);
  }
  const cursor = cursorIn(text, content);
  if (cursor === null)
    throw usageError(
      `the file ${file} is not a cursor file: choose another file, or remove this file`,
    );
  removeLeftDrafts(file);
  return cursor;
}

function cursorIn<T>(text: string, content: z.ZodType<T>): T | null {
  try {
    return content.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/**
 * Removes half a line from the end of the output and returns the seq of the last whole line. Returns null if the output
 * has not grown beyond `known` bytes, and for a last line in another form.
 */
function repairEnd(output: number, known: number | null): number | null {
  return seqOf(linesBehind(output, known).at(-1) ?? '');
}

/** The whole lines of the output behind `known` bytes, of its end; removes half a line behind them. */
export function linesBehind(output: number, known: number | null): string[] {
  const { size } = fs.fstatSync(output);
  if (known === null || size <= known) return [];
  // Opened again, because the descriptor may be write-only.
  const file = openAgain(output);
  try {
    const from = Math.max(known, size - LAST_LINES_BYTES);
    const end = Buffer.alloc(size - from);
    fs.readSync(file, end, 0, end.length, from);
    const whole = end.lastIndexOf('\n') + 1;
    if (whole < end.length && (whole > 0 || from === known)) fs.ftruncateSync(file, from + whole);
    return end.toString('utf8', 0, whole).trimEnd().split('\n');
  } finally {
    fs.closeSync(file);
  }
}

/** The seq at the start of a line of `events tail`, as text or JSON; null for any other line. */
function seqOf(line: string): number | null {
  const found = /^(?:\{"seq":| *)(\d+)/.exec(line)?.[1];
  return found === undefined ? null : Number(found);
}
