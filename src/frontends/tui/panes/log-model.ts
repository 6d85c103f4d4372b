import { AppError } from '../../../api/errors.ts';
import { endpoints } from '../../../api/index.ts';
import type { Client } from '../../../client/client.ts';
import { readLogs, streamLogs } from '../../../client/log-stream.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { BATCH_MS, type Connection, untilAnswered } from '../follow.ts';
import { Observable } from '../observable.ts';
import {
  emptyLog,
  type LogLine,
  type LogState,
  LogText,
  type Output,
  type OutputFilter,
  outputs,
  withOlder,
  withPieces,
} from './log-text.ts';
import type { Copyable, PaneModel } from './pane-model.ts';
import { Reader } from './reader.ts';
import { RenderThrottle } from './render-throttle.ts';

/** So much of each output is read at first, and each time the reader comes to the top. */
const PAGE_BYTES = 64 * 1024;
/** More lines than these are not kept: the end is read again, and older lines when they are wanted. */
const MAX_LINES = 20_000;
/** A process that prints more than this within `BATCH_MS` is not followed line by line: its end is shown now and then. */
const FLOOD_BYTES = 256 * 1024;
const FLOOD_MS = 500;
const MISSING = '(some output is missing here)\n';

export interface LogOptions {
  client: Client;
  clock: Clock;
  processId: string;
}

/** The output of a process: its end, earlier output on demand, and new output. */
export class LogModel implements PaneModel {
  readonly connection = new Observable<Connection>({ state: 'reading' });
  readonly seq = new Observable(0);
  readonly shown = new Observable<OutputFilter>('both');
  /** Whether the process has ended and all that it printed is there. */
  readonly ended = new Observable(false);
  readonly reader: Reader;
  readonly #options: LogOptions;
  readonly #text = new LogText();
  readonly #throttle: RenderThrottle;
  #state: LogState = emptyLog;
  /** Where in each output the known part begins, in bytes. */
  #from: Record<Output, number> = { stdout: 0, stderr: 0 };
  #pieces: LogLine[] = [];
  #reading = new AbortController();
  #stopped = false;
  #older: Promise<void> | undefined;
  /** Whether lines were left out since the reader has left the end. */
  #isCut = false;

  constructor(options: LogOptions) {
    this.#options = options;
    this.#throttle = new RenderThrottle(options.clock, () => this.#show());
    this.reader = new Reader(this.#text);
    this.reader.follows.subscribe(() => {
      if (this.#isCut && this.reader.follows.get()) void this.#read();
    });
  }

  start(): void {
    void this.#read();
  }

  stop(): void {
    this.#stopped = true;
    this.#reading.abort();
    this.#throttle.stop();
  }

  older(): Promise<void> {
    const output = this.#outputs().find((one) => this.#from[one] > 0);
    if (output === undefined) return Promise.resolve();
    this.#older ??= this.#readOlder(output).finally(() => (this.#older = undefined));
    return this.#older;
  }

  coverage(): string {
    const left = this.#outputs().reduce((sum, output) => sum + this.#from[output], 0);
    if (left === 0) return this.#isCut ? 'in loaded output, G loads the rest' : 'in all output';
    return `in loaded output, ${Math.ceil(left / 1024)} KiB not loaded`;
  }

  /** Shows both outputs, then stdout alone, then stderr alone, then both again. */
  switch(): void {
    this.shown.change((shown) =>
      shown === 'both' ? 'stdout' : shown === 'stdout' ? 'stderr' : 'both',
    );
    this.#throttle.now();
    this.reader.toEnd();
  }

  copyable(): Copyable[] {
    const all = Array.from({ length: this.#text.count() }, (_, at) => this.#text.textOf(at));
    return [
      { name: 'visible text', text: this.reader.visibleText() },
      { name: 'loaded lines', text: all.join('\n') },
      { name: 'process id', text: this.#options.processId },
    ].filter(({ text }) => text !== '');
  }

  #outputs(): readonly Output[] {
    const shown = this.shown.get();
    return shown === 'both' ? outputs : [shown];
  }

  /** Reads the end of both outputs, then follows them. */
  async #read(): Promise<void> {
    this.#reading.abort();
    const reading = new AbortController();
    this.#reading = reading;
    const { signal } = reading;
    const { clock } = this.#options;
    const { connection } = this;
    try {
      const begin = () => this.#readEnd(signal);
      const ends = await untilAnswered({ clock, signal, connection, begin });
      if (ends === null || signal.aborted) return;
      connection.set({ state: 'live' });
      await Promise.all(outputs.map((output) => this.#follow(output, ends[output], reading)));
      if (signal.aborted) return;
      this.#flush();
      this.#throttle.now();
      this.ended.set(true);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof AppError)) throw error;
      connection.set({ state: 'refused', why: error.message });
    }
  }

  /** Shows the end of both outputs, and resolves with the positions after it. */
  async #readEnd(signal: AbortSignal): Promise<Record<Output, number>> {
    const { client, processId: process_id } = this.#options;
    const read = await client.call(
      endpoints.getProcessLogs,
      { params: { process_id }, query: { tail_lines: 1000, max_bytes: PAGE_BYTES } },
      signal,
    );
    const ends = { stdout: 0, stderr: 0 };
    let state = emptyLog;
    const begun: LogLine[] = [];
    for (const output of outputs) {
      const { content, offset, bytes } = read[output] ?? { content: '', offset: 0, bytes: 0 };
      this.#from[output] = offset;
      ends[output] = offset + bytes;
      // New output continues an incomplete last line.
      const at = content.lastIndexOf('\n') + 1;
      state = withOlder(state, output, content.slice(0, at));
      begun.push({ output, text: content.slice(at) });
    }
    this.#pieces = [];
    this.#isCut = false;
    this.#state = withPieces(state, begun);
    this.#throttle.now();
    return ends;
  }

  async #follow(output: Output, from: number, reading: AbortController): Promise<void> {
    const { client, clock, processId } = this.#options;
    const { signal } = reading;
    const onConnection = (isLost: boolean) => {
      const isKnown = this.connection.get().state === (isLost ? 'lost' : 'live');
      if (signal.aborted || isKnown) return;
      this.connection.set(isLost ? { state: 'lost', since: clock.now() } : { state: 'live' });
    };
    const stream = { client, clock, processId, stream: output, signal, from, onConnection };
    for await (const text of streamLogs(stream)) {
      if (signal.aborted) return;
      if (this.#pieces.length === 0) clock.after(BATCH_MS, () => this.#flush());
      this.#pieces.push({ output, text });
      const size = this.#pieces.reduce((sum, piece) => sum + piece.text.length, 0);
      if (size > FLOOD_BYTES) this.#skip();
    }
  }

  /** Leaves out what a process prints in masses, and shows its end after a while. */
  #skip(): void {
    this.#flush();
    this.#reading.abort();
    this.#options.clock.after(FLOOD_MS, () => {
      if (this.#stopped) return;
      if (this.reader.follows.get()) void this.#read();
      else this.#isCut = true;
    });
  }

  #flush(): void {
    const pieces = this.#pieces;
    this.#pieces = [];
    if (pieces.length === 0 || this.#stopped || this.#isCut) return;
    this.#state = withPieces(this.#state, pieces);
    this.#throttle.grew(pieces.reduce((sum, { text }) => sum + text.length, 0));
    const { before, live } = this.#state;
    if (before.stdout.length + before.stderr.length + live.length <= MAX_LINES) return;
    if (this.reader.follows.get()) void this.#read();
    else {
      this.#isCut = true;
      this.#reading.abort();
    }
  }

  async #readOlder(output: Output): Promise<void> {
    const { client, clock, processId } = this.#options;
    const { signal } = this.#reading;
    const to = this.#from[output];
    const range = { from: Math.max(0, to - PAGE_BYTES), to };
    const page = await readLogs({ client, clock, processId, stream: output, ...range, signal });
    if (signal.aborted || this.#from[output] !== to) return;
    // A page begins with a whole line, unless it has only the end of one.
    const end = page.text.indexOf('\n');
    const begin = page.from === 0 || end === page.text.length - 1 ? 0 : end + 1;
    const skipped = bytesBefore(page, begin);
    const text = page.text.slice(skipped === null ? 0 : begin);
    // The server keeps the beginning and the end of a long output: between them, the page goes back in large steps.
    if (text === '') this.#from[output] = Math.floor(range.from / 2);
    else if (range.from === 0) this.#from[output] = 0;
    else this.#from[output] = page.from + (skipped ?? 0);
    this.#throttle.now();
    const before = this.#text.count();
    this.#state = withOlder(this.#state, output, text === '' ? MISSING : text);
    this.#text.show(this.#state, this.shown.get());
    this.reader.changed(this.#text.count() - before);
  }

  #show(): void {
    this.#text.show(this.#state, this.shown.get());
    this.reader.changed();
  }
}

const REPLACED = '\uFFFD';

/**
 * Returns how many bytes of a page are before the position `at` of its text. Null if that is not known: the text has a
 * character of three bytes for each byte that is not UTF-8.
 */
function bytesBefore({ text, bytes }: { text: string; bytes: number }, at: number): number | null {
  const [before, after] = [text.slice(0, at), text.slice(at)];
  if (!before.includes(REPLACED)) return Buffer.byteLength(before);
  return after.includes(REPLACED) ? null : bytes - Buffer.byteLength(after);
}
