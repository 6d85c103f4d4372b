import { EventEmitter } from 'node:events';
import type { Clock } from '../lib/clock.ts';

export interface Size {
  rows: number;
  columns: number;
}

/** The terminal is written to at most so often. */
const FRAME_MS = 50;

const ENTER = '\u001B[?1049h\u001B[?25l\u001B[?7l\u001B[2J';
const LEAVE = '\u001B[?7h\u001B[?25h\u001B[?1049l';
/** A terminal that knows it shows what is between them at once. */
const BEGIN = '\u001B[?2026h';
const END = '\u001B[?2026l';

/**
 * A whole terminal to draw on, given back as it was. ink hands it every frame; of these it writes the lines that
 * changed, each to its own place. What ink itself would write for a frame as high as the terminal is a clearing of the
 * terminal with its scrollback, at every change.
 */
export class Screen extends EventEmitter {
  readonly isTTY = true;
  readonly #terminal: NodeJS.WriteStream;
  readonly #clock: Clock;
  /** What the terminal shows. */
  #shown: string[] = [];
  #frame: string[] = [];
  #drawnAt = Number.NEGATIVE_INFINITY;
  #pending: Disposable | undefined;
  #isOpen = false;

  constructor(terminal: NodeJS.WriteStream, clock: Clock) {
    super();
    this.#terminal = terminal;
    this.#clock = clock;
  }

  get rows(): number {
    return this.#terminal.rows || 24;
  }

  get columns(): number {
    return this.#terminal.columns || 80;
  }

  size(): Size {
    return { rows: this.rows, columns: this.columns };
  }

  /** Takes the terminal; `onResize` is told of each new size. */
  open(onResize: () => void): void {
    this.#isOpen = true;
    this.#terminal.write(ENTER);
    this.#terminal.on('resize', () => {
      if (!this.#isOpen) return;
      // What is where after a resize is known to the terminal alone.
      this.#shown = [];
      this.#terminal.write('\u001B[2J');
      onResize();
    });
    // Whatever ends the program: a terminal without a cursor is of no use to anybody.
    process.once('exit', () => this.close());
  }

  /** Gives it back. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#pending?.[Symbol.dispose]();
    this.#terminal.write(LEAVE);
  }

  /** Takes a frame, as ink writes it. */
  write(frame: string): boolean {
    this.#frame = frame.split('\n').slice(0, this.rows);
    const wait = this.#drawnAt + FRAME_MS - this.#clock.monotonic();
    if (wait <= 0) this.#draw();
    else this.#pending ??= this.#clock.after(wait, () => this.#draw());
    return true;
  }

  #draw(): void {
    this.#pending = undefined;
    if (!this.#isOpen) return;
    this.#drawnAt = this.#clock.monotonic();
    // Erased first: with a line as wide as the terminal the cursor stays on its last character.
    const changes = Array.from({ length: this.rows }, (_, i) => {
      const line = this.#frame[i] ?? '';
      return line === (this.#shown[i] ?? '') ? '' : `\u001B[${i + 1};1H\u001B[2K${line}\u001B[0m`;
    }).join('');
    this.#shown = this.#frame;
    if (changes !== '') this.#terminal.write(BEGIN + changes + END);
  }
}
