import fs from 'node:fs';
import { z } from 'zod';
import { reopenDescriptor } from '../../core/children/descriptors.ts';
import { conflictError, usageError } from '../../api/errors.ts';
import { readSmallFile } from '../../core/lib/foreign-file.ts';
import { removeLeftDrafts, replaceFile } from '../../core/lib/replace-file.ts';

/** The last line of the output is searched in this many bytes at its end. */
const LAST_LINES_BYTES = 1024 * 1024;

/** The descriptor of an output; null for a stream without one. */
export function descriptorOf(output: NodeJS.WritableStream): number | null {
  return 'fd' in output && typeof output.fd === 'number' ? output.fd : null;
}

/** The length of the output when a position was saved; null where the output is not a regular file. */
export const bytes = z.int().nullable();

/**
 * The position of a reader of events, kept in a file, so that the reader continues there after whatever ended it. Where
 * the output is a regular file, its content decides: a line written after the position was saved is not written again,
 * and half a line at its end is removed. Through a pipe, events written just before a SIGKILL may come twice.
 */
export class CursorFile<Position extends object> {
  readonly #file: string;
  readonly #output: number | null;
  #saving: NodeJS.Immediate | undefined;
  #position: (() => Position) | undefined;
  /** The position of an earlier reader; null before the first event. */
  readonly saved: (Position & { bytes: number | null }) | null;

  /** `output` is the descriptor that lines are written to; null where the output has none. */
  constructor(
    file: string,
    output: number | null,
    content: z.ZodType<Position & { bytes: number | null }>,
  ) {
    this.#file = file;
    this.#output = output !== null && fs.fstatSync(output).isFile() ? output : null;
    this.saved = readCursor(file, content);
  }

  /** The whole lines that were written after the position was saved. Removes half a line behind them. */
  linesBehind(): string[] {
    return this.#output === null ? [] : linesBehind(this.#output, this.saved?.bytes ?? null);
  }

  /** Moves the cursor to the position that `position` returns later in this turn of the event loop, and saves it then. */
  moveTo(position: () => Position): void {
    this.#position = position;
    this.#saving ??= setImmediate(() => this.save());
  }

  save(): void {
    if (this.#saving) clearImmediate(this.#saving);
    this.#saving = undefined;
    if (!this.#position) return;
    const bytes = this.#output === null ? null : fs.fstatSync(this.#output).size;
    replaceFile(this.#file, `${JSON.stringify({ ...this.#position(), bytes })}\n`);
  }
}

const ofOneLog = z.object({
  epoch: z.string(),
  /** The last event that was written; -1 before the first. */
  seq: z.int(),
  bytes,
});

/** The position of a reader of one log. */
export class LogCursor extends CursorFile<{ epoch: string; seq: number }> {
  readonly #name: string;
  #epoch = '';

  constructor(file: string, output: number | null) {
    super(file, output, ofOneLog);
    this.#name = file;
  }

  /** The seq to continue after; null before the first event. Throws `conflict` for the cursor of another log. */
  start(epoch: string): number | null {
    if (this.saved && this.saved.epoch !== epoch)
      throw conflictError(
        `the cursor file ${this.#name} belongs to another event log, because the data of the server was replaced: remove the file to start again`,
      );
    const seq = Math.max(this.saved?.seq ?? -1, seqOf(this.linesBehind().at(-1) ?? ''));
    this.#epoch = epoch;
    this.moveToSeq(seq);
    // Saves the length of the output, because everything behind it is written by this run.
    this.save();
    return seq < 0 ? null : seq;
  }

  /** Moves the cursor to an event that was written. */
  moveToSeq(seq: number): void {
    this.moveTo(() => ({ epoch: this.#epoch, seq }));
  }
}

const MAX_BYTES = 64 * 1024;

/**
 * Returns the cursor in a file, and removes its old drafts; null if the file does not exist. Throws `usage` for a file
 * in another form.
 */
function readCursor<T>(file: string, content: z.ZodType<T>): T | null {
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

/** The whole lines of the output behind `known` bytes, of its end; removes half a line behind them. */
function linesBehind(output: number, known: number | null): string[] {
  const { size } = fs.fstatSync(output);
  if (known === null || size <= known) return [];
  // Opened again, because the descriptor may be write-only.
  const file = reopenDescriptor(output);
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

/** The seq at the start of a line of `events tail`, as text or JSON; -1 for any other line. */
function seqOf(line: string): number {
  return Number(/^(?:\{"seq":| *)(\d+)/.exec(line)?.[1] ?? -1);
}
