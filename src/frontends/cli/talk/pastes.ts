import { PassThrough } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { plain } from '../../../core/lib/plain.ts';

/** Stands for a line break of what was pasted, in a line of input, which can hold none. */
const BREAK = '↵';

const [BEGIN, END] = ['\u001B[200~', '\u001B[201~'];
/** The beginning of BEGIN at the end of a piece: no key sends it alone. */
const BEGUN = /\u001B\[20?0?$/;

/** A text of several lines as a line of input. */
export function withoutBreaks(text: string): string {
  return text.replaceAll('\n', BREAK);
}

/** The text of a line of input, with the line breaks of what was pasted into it. */
export function withBreaks(line: string): string {
  return line.replaceAll(BREAK, '\n');
}

/**
 * The keys of a terminal that says what is pasted (bracketed paste), for a line of input: the line breaks of a paste are
 * marked, so that all of it is one line. The terminal is asked to do so while it is in raw mode.
 */
export class Pastes extends PassThrough {
  readonly isTTY = true;
  readonly #input: NodeJS.ReadStream;
  readonly #output: NodeJS.WriteStream;
  readonly #decoder = new StringDecoder('utf8');
  /** What was read and is not passed on: a paste whose end has not come, or the beginning of its mark. */
  #kept = '';

  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream) {
    super();
    this.#input = input;
    this.#output = output;
    input.on('data', this.#take).once('end', this.#hangUp);
    input.resume();
  }

  get isRaw(): boolean {
    return this.#input.isRaw;
  }

  /** For readline, which calls it where it takes the terminal, and where it gives it back. */
  setRawMode(isRaw: boolean): this {
    this.#output.write(`\u001B[?2004${isRaw ? 'h' : 'l'}`);
    this.#input.setRawMode(isRaw);
    return this;
  }

  /** Leaves the terminal's input to others. */
  close(): void {
    this.#input.off('data', this.#take).off('end', this.#hangUp);
    this.#input.pause();
  }

  readonly #take = (piece: Buffer | string) => {
    let rest = this.#kept + (typeof piece === 'string' ? piece : this.#decoder.write(piece));
    this.#kept = '';
    for (let at = rest.indexOf(BEGIN); at >= 0; at = rest.indexOf(BEGIN)) {
      const end = rest.indexOf(END, at);
      this.write(rest.slice(0, at));
      this.#kept = end < 0 ? rest.slice(at) : '';
      if (end < 0) return;
      this.write(marked(rest.slice(at + BEGIN.length, end)));
      rest = rest.slice(end + END.length);
    }
    const [begun = ''] = BEGUN.exec(rest) ?? [];
    this.#kept = begun;
    this.write(rest.slice(0, rest.length - begun.length));
  };

  readonly #hangUp = () => void this.end();
}

/** A paste without what a terminal would obey, and as one line. */
function marked(paste: string): string {
  return plain(paste.replaceAll(/\r\n?/g, '\n'))
    .replace(/\n+$/, '')
    .replaceAll('\t', '    ')
    .replaceAll('\n', BREAK);
}
