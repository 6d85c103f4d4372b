import type { CommandIo } from '../command-io.ts';

/** Where a command writes what an agent says and does. */
export interface TurnOutput {
  /** The agent's own words, as they come. */
  message(text: string): void;
  /** Other output in pieces, such as thoughts. */
  detail(text: string): void;
  /** Reports in whole lines. */
  status(text: string): void;
  /** Keeps back all that is written until the result is disposed, because a question is on the terminal. */
  hold(): Disposable;
}

type Output = 'stdout' | 'stderr';

/**
 * Words to stdout, everything else to stderr. On a terminal no text begins within a line of the other output, also in
 * the middle of a message.
 */
export class StandardTurnOutput implements TurnOutput {
  readonly #io: CommandIo;
  /** The output whose last line is not ended. */
  #open: Output | null = null;
  #kept: (() => void)[] | null = null;

  constructor(io: CommandIo) {
    this.#io = io;
  }

  message(text: string): void {
    this.#put('stdout', text);
  }

  detail(text: string): void {
    this.#put('stderr', text);
  }

  status(text: string): void {
    this.#do(() => {
      this.#endLine();
      this.#io.stderr.write(text);
    });
  }

  hold(): Disposable {
    this.#do(() => this.#endLine());
    this.#kept ??= [];
    return {
      [Symbol.dispose]: () => {
        const kept = this.#kept ?? [];
        this.#kept = null;
        for (const write of kept) write();
      },
    };
  }

  #put(output: Output, text: string): void {
    if (text === '') return;
    this.#do(() => {
      if (this.#open !== output) this.#endLine();
      this.#io[output].write(text);
      this.#open = text.endsWith('\n') ? null : output;
    });
  }

  /** Ends the open line, unless it is one of a file or a pipe, which gets the agent's words and nothing else. */
  #endLine(): void {
    const { stdout, stderr } = this.#io;
    if (this.#open === null) return;
    if (this.#open === 'stdout' && !(stdout.isTTY && stderr.isTTY)) return;
    stderr.write('\n');
    this.#open = null;
  }

  #do(write: () => void): void {
    if (this.#kept) this.#kept.push(write);
    else write();
  }
}
