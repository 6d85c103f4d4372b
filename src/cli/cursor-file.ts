import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { readSmallFile } from '../lib/foreign-file.ts';
import { newUuid } from '../lib/ids.ts';

const content = z.object({
  epoch: z.string(),
  /** The last event that was written; -1: none yet. */
  seq: z.int(),
  /** How long the output was then; null where it is no file. */
  bytes: z.int().nullable(),
});

/** The end of the output is read this far back for its last line. */
const LAST_LINES_BYTES = 1024 * 1024;

/**
 * Remembers how far a reader has come, so that it goes on there when it is started again, whatever ended it. Where
 * its output is a file, what that has is the truth: a line that was written after the cursor was saved is not
 * written again, and half a line at the end is taken away. Through a pipe, what was written in the last instant
 * before a SIGKILL may come twice.
 */
export class CursorFile {
  readonly #file: string;
  readonly #output: number | null;
  #saved: NodeJS.Immediate | undefined;
  #state: z.output<typeof content> | null;

  /** `output` is the descriptor that lines go to; null where it is not one of the process. */
  constructor(file: string, output: number | null) {
    this.#file = file;
    this.#output = output !== null && fs.fstatSync(output).isFile() ? output : null;
    this.#state = readCursor(file);
  }

  /** The seq to go on after; null where nothing was read yet. Throws `conflict` for the cursor of another log. */
  start(epoch: string): number | null {
    const saved = this.#state;
    if (saved && saved.epoch !== epoch) {
      throw new AppError(
        'conflict',
        `${this.#file} belongs to another event log: the server's data was replaced; remove the file to start anew`,
      );
    }
    const written = this.#output === null ? null : repairEnd(this.#output, saved?.bytes ?? null);
    const seq = Math.max(saved?.seq ?? -1, written ?? -1);
    this.#state = { epoch, seq, bytes: null };
    // From here on what is added to the output is ours.
    this.save();
    return seq < 0 ? null : seq;
  }

  /** An event was written. */
  moveTo(seq: number): void {
    if (!this.#state) return;
    this.#state.seq = seq;
    this.#saved ??= setImmediate(() => this.save());
  }

  /** Writes the cursor, whole or not at all. */
  save(): void {
    if (this.#saved) clearImmediate(this.#saved);
    this.#saved = undefined;
    if (!this.#state) return;
    const bytes = this.#output === null ? null : fs.fstatSync(this.#output).size;
    // A name that nobody can foresee, made exclusively: in a shared directory another user could lay a link there.
    const draft = path.join(
      path.dirname(this.#file),
      `.${path.basename(this.#file)}.${newUuid()}.part`,
    );
    try {
      const text = `${JSON.stringify({ ...this.#state, bytes })}\n`;
      fs.writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
      fs.renameSync(draft, this.#file);
    } catch (error) {
      fs.rmSync(draft, { force: true });
      throw error;
    }
  }
}

const MAX_BYTES = 64 * 1024;

function readCursor(file: string): z.output<typeof content> | null {
  let text: string;
  try {
    text = readSmallFile(file, { maxBytes: MAX_BYTES }).text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new AppError('usage', `cannot read ${file}: ${(error as Error).message}`);
  }
  try {
    return content.parse(JSON.parse(text));
  } catch {
    throw new AppError('usage', `${file} is no cursor file: name another, or remove it`);
  }
}

/**
 * Takes half a line from the end of the output, and gives the seq of its last whole one. Null where nothing was
 * written to it since `known` bytes, or where that was not ours.
 */
function repairEnd(output: number, known: number | null): number | null {
  const { size } = fs.fstatSync(output);
  if (known === null || size <= known) return null;
  // The descriptor may be for writing alone.
  const file = fs.openSync(`/proc/self/fd/${output}`, 'r+');
  try {
    const from = Math.max(known, size - LAST_LINES_BYTES);
    const end = Buffer.alloc(size - from);
    fs.readSync(file, end, 0, end.length, from);
    const whole = end.lastIndexOf('\n') + 1;
    if (whole < end.length && (whole > 0 || from === known)) fs.ftruncateSync(file, from + whole);
    const lines = end.toString('utf8', 0, whole).trimEnd().split('\n');
    return seqOf(lines.at(-1) ?? '');
  } finally {
    fs.closeSync(file);
  }
}

/** The seq that a line of `events tail` begins with, in either form. */
function seqOf(line: string): number | null {
  const found = /^(?:\{"seq":| *)(\d+)/.exec(line)?.[1];
  return found === undefined ? null : Number(found);
}
