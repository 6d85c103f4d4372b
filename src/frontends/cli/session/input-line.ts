import { createInterface, type Interface, type Key } from 'node:readline';
import { withJobControl } from '../job-control.ts';
import { type PromptHistory, Recall } from '../../../core/lib/prompt-history.ts';
import { widthOf, wrapped } from '../../terminal/width.ts';
import type { TurnOutput } from './turn-output.ts';
import { PassThrough } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { plain } from '../../../core/lib/plain.ts';

export interface LineActions {
  /** Takes a line that was typed, which is not blank. */
  submit(text: string): void;
  interrupt(): void;
  /** Ctrl-D on an empty line, or the terminal is gone. */
  leave(): void;
  /** The completions of a line for Tab. */
  complete(typed: string): Promise<readonly string[]>;
}

/**
 * A line of input at the bottom of a terminal, with the output above it. A question hides the line, and the typed text
 * returns after it. A paste of several lines is one message.
 */
export class InputLine implements TurnOutput {
  readonly #input: NodeJS.ReadStream;
  readonly #output: NodeJS.WriteStream;
  readonly #actions: LineActions;
  #line: Interface | null = null;
  #keys: Pastes | null = null;
  readonly #prompts: PromptHistory | null;
  /** The lines that readline goes through, the newest first; null until the first line is shown. */
  #history: string[] | null = null;
  /** The last row of the text above, which may grow, the text that it belongs to, and whether it is above the line. */
  #rest = '';
  #showsRest = false;
  #restOf: 'message' | 'detail' | null = null;
  #kept: (() => void)[] | null = null;

  constructor(
    input: NodeJS.ReadStream,
    output: NodeJS.WriteStream,
    actions: LineActions,
    prompts: PromptHistory | null = null,
  ) {
    this.#prompts = prompts;
    this.#input = input;
    this.#output = output;
    this.#actions = actions;
  }

  open(text = ''): void {
    const keys = new Pastes(this.#input, this.#output);
    this.#keys = keys;
    this.#history ??= this.#earlier().toReversed();
    const line = createInterface({
      input: keys,
      output: this.#output,
      terminal: true,
      prompt: '> ',
      history: this.#history,
      historySize: 1000,
      completer: (typed: string, give: (error: null, result: [string[], string]) => void) => {
        const found = (words: readonly string[]) => give(null, [[...words], typed]);
        void this.#actions.complete(typed).then(found, () => found([]));
      },
      removeHistoryDuplicates: true,
    });
    this.#line = line;
    line.on('history', (history) => (this.#history = history));
    line.on('line', (typed) => {
      // The row that could grow is now above the typed text.
      this.#rest = '';
      this.#showsRest = false;
      const text = withBreaks(typed);
      if (text.trim() !== '') {
        this.#prompts?.add(text);
        this.#actions.submit(text);
      }
      this.#line?.prompt();
    });
    line.on('SIGINT', () => {
      // Ctrl-C discards the typed text, as in a shell.
      if (line.line !== '') for (const name of ['e', 'u']) line.write(null, { ctrl: true, name });
      else this.#actions.interrupt();
    });
    withJobControl(line, keys, () => {
      if (this.#showsRest) this.#output.write(`${this.#rest}\n`);
    });
    searchBack(line, keys, () => new Recall(this.#earlier()));
    line.on('close', () => {
      if (this.#line === line) this.#actions.leave();
    });
    line.prompt();
    if (text !== '') line.write(text);
  }

  /** The prompts that were sent before, each as a line of input. */
  #earlier(): string[] {
    return (this.#prompts?.read() ?? []).map((prompt) => inOneLine(asTyped(prompt)));
  }

  /** Takes the line away, and returns the text that was typed on it. */
  close(): string {
    const line = this.#line;
    if (!line) return '';
    const text = line.line;
    this.#erase(line);
    this.#line = null;
    line.close();
    this.#keys?.close();
    return text;
  }

  message(text: string): void {
    this.#do(() => this.#add('message', text));
  }

  detail(text: string): void {
    this.#do(() => this.#add('detail', text));
  }

  status(text: string): void {
    this.#do(() => {
      this.#endLine();
      if (text !== '') this.#print(text.replace(/\n$/, ''));
    });
  }

  hold(): Disposable {
    this.#do(() => this.#endLine());
    this.#kept ??= [];
    const text = this.close();
    return {
      [Symbol.dispose]: () => {
        const kept = this.#kept ?? [];
        this.#kept = null;
        for (const write of kept) write();
        this.open(text);
      },
    };
  }

  #add(what: 'message' | 'detail', text: string): void {
    if (this.#restOf !== what) this.#endLine();
    this.#restOf = what;
    const lines = (this.#rest + text).split('\n');
    const last = lines.pop() ?? '';
    // A long line is shown row by row, so that nobody waits for its end.
    const columns = this.#output.columns || 80;
    const rows = widthOf(last) > columns ? wrapped(last, columns) : [last];
    this.#rest = rows.pop() ?? '';
    this.#print(...lines, ...rows);
  }

  #endLine(): void {
    const rest = this.#rest;
    this.#rest = '';
    this.#restOf = null;
    if (rest !== '') this.#print(rest);
  }

  /** Writes whole lines, and below them the row that may grow, above the line of input. */
  #print(...lines: readonly string[]): void {
    const line = this.#line;
    if (line) this.#erase(line);
    if (this.#showsRest) this.#output.write('\u001B[A\r\u001B[J');
    this.#showsRest = this.#rest !== '';
    const rows = this.#showsRest ? [...lines, this.#rest] : lines;
    // Before readline draws the line, it moves up by the rows that it remembers to have drawn above the cursor.
    const remembered = (line as { prevRows?: number } | null)?.prevRows ?? 0;
    this.#output.write(rows.map((row) => `${row}\n`).join('') + '\n'.repeat(remembered));
    line?.prompt(true);
  }

  #erase(line: Interface): void {
    const { rows } = line.getCursorPos();
    this.#output.write(`${rows > 0 ? `\u001B[${rows}A` : ''}\r\u001B[J`);
  }

  #do(write: () => void): void {
    if (this.#kept) this.#kept.push(write);
    else write();
  }
}

/** Stands for a line break of what was pasted, in a line of input, which can hold none. */
const BREAK = '↵';
/** The character `↵` itself, in a line of input: with a selector that has no width. */
const ARROW = '↵\uFE0E';

function asTyped(text: string): string {
  return text.replaceAll(BREAK, ARROW);
}

function inOneLine(text: string): string {
  return text.replaceAll('\n', BREAK);
}

/** Returns the text of a line of input. */
function withBreaks(line: string): string {
  return line.replaceAll(/\u21B5(?!\uFE0E)/g, '\n').replaceAll(ARROW, BREAK);
}

const [BEGIN, END] = ['\u001B[200~', '\u001B[201~'];
/** The beginning of BEGIN at the end of a piece: no key sends it alone. */
const BEGUN = /\u001B\[20?0?$/;

/**
 * The keys of a terminal that says what is pasted (bracketed paste), for a line of input: the line breaks of a paste are
 * marked, so that all of it is one line. The terminal is asked to do so while it is in raw mode.
 */
class Pastes extends PassThrough {
  readonly isTTY = true;
  readonly #input: NodeJS.ReadStream;
  readonly #output: NodeJS.WriteStream;
  readonly #decoder = new StringDecoder('utf8');
  /** The input that was read but not passed on: an incomplete paste, or the start of its mark. */
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
      this.write(asTyped(rest.slice(0, at)));
      this.#kept = end < 0 ? rest.slice(at) : '';
      if (end < 0) return;
      this.write(marked(rest.slice(at + BEGIN.length, end)));
      rest = rest.slice(end + END.length);
    }
    const [begun = ''] = BEGUN.exec(rest) ?? [];
    this.#kept = begun;
    this.write(asTyped(rest.slice(0, rest.length - begun.length)));
  };

  readonly #hangUp = () => void this.end();
}

/** A paste without what a terminal would obey, and as one line. */
function marked(paste: string): string {
  const text = plain(paste.replaceAll(/\r\n?/g, '\n')).replace(/\n+$/, '');
  return inOneLine(asTyped(text.replaceAll('\t', '    ')));
}

/** On a line of input, Ctrl-R goes to the newest prompt that contains what is typed, and pressed again to the one before. */
function searchBack(line: Interface, keys: NodeJS.EventEmitter, begin: () => Recall): void {
  let recall: Recall | undefined;
  const onKey = (_input: string | undefined, key: Key) => {
    if (!key.ctrl || key.name !== 'r') return;
    recall ??= begin();
    const found = recall.search(line.line);
    if (found === null) return;
    for (const name of ['e', 'u']) line.write(null, { ctrl: true, name });
    line.write(found);
  };
  keys.on('keypress', onKey);
  // A prompt that was just sent is found as well.
  line.on('line', () => (recall = undefined));
}
