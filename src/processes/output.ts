import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import { incompleteBytes } from '../lib/utf8.ts';
import { LogFile } from './log-file.ts';

/** Output is told of so late that much of it is told at once. */
const JOIN_MS = 100;
/** An event has the beginning of what it tells of. */
const EVENT_TEXT_BYTES = 4096;
/** After so much text of one process, events say where its output is, and seldom. */
const TEXT_BUDGET_BYTES = 256 * 1024;
const SELDOM_MS = 500;
/** Somebody else may hold the pipe: it is over when so many looks, this far apart, have found nothing. */
const QUIET_LOOKS = 3;
const LOOK_MS = 10;

export type StreamName = 'stdout' | 'stderr';

/** What a `process.output` event says. */
export interface OutputNews {
  stream: StreamName;
  offset: number;
  bytes: number;
  text: string;
}

/** What a process prints: all of it into its files, some of it into events. */
export class ProcessOutput {
  readonly #tell: (news: OutputNews) => void;
  readonly #streams: Record<StreamName, StreamOutput>;
  readonly #budget = { text: TEXT_BUDGET_BYTES };

  constructor(given: {
    pathOf: (stream: StreamName) => string;
    capBytes: number;
    clock: Clock;
    /** Tells of output in an event. */
    tell: (news: OutputNews) => void;
    /** Told of every chunk, once it is in the file. */
    onChunk: (stream: StreamName, chunk: Buffer) => void;
    /** Told where the disk takes no more: what comes then is dropped. */
    onError: (error: unknown) => void;
  }) {
    const { clock, capBytes } = given;
    this.#tell = given.tell;
    const streamOf = (name: StreamName) =>
      new StreamOutput({
        file: new LogFile(given.pathOf(name), capBytes),
        capBytes,
        clock,
        budget: this.#budget,
        tell: (news) => this.#tell({ stream: name, ...news }),
        onChunk: (chunk) => given.onChunk(name, chunk),
        onError: given.onError,
      });
    this.#streams = { stdout: streamOf('stdout'), stderr: streamOf('stderr') };
  }

  /** Begins to read. */
  collect(child: Record<StreamName, Readable>): void {
    for (const name of ['stdout', 'stderr'] as const) this.#streams[name].collect(child[name]);
  }

  /** Reads what is in the pipes still, and lets go of them, also where somebody else holds their other end. */
  async finish(): Promise<void> {
    await Promise.all(Object.values(this.#streams).map((stream) => stream.finish()));
  }

  /** Tells of what was not told yet. */
  flush(): void {
    for (const stream of Object.values(this.#streams)) stream.flush();
  }

  get totals(): {
    stdout_bytes: number;
    stderr_bytes: number;
    stdout_truncated: boolean;
    stderr_truncated: boolean;
  } {
    const { stdout, stderr } = this.#streams;
    return {
      stdout_bytes: stdout.total,
      stderr_bytes: stderr.total,
      stdout_truncated: stdout.isTruncated,
      stderr_truncated: stderr.isTruncated,
    };
  }
}

interface StreamOutputDependencies {
  file: LogFile;
  capBytes: number;
  clock: Clock;
  budget: { text: number };
  tell: (news: Omit<OutputNews, 'stream'>) => void;
  onChunk: (chunk: Buffer) => void;
  onError: (error: unknown) => void;
}

class StreamOutput {
  readonly #given: StreamOutputDependencies;
  #source: Readable | undefined;
  #read: Promise<void> = Promise.resolve();
  #chunks = 0;
  #isWriting = false;
  /** Bytes that the disk did not take. */
  #lost = 0;
  /** What is to be told: where it begins, its first bytes, how much it is. */
  #untold = { offset: 0, head: Buffer.alloc(0), bytes: 0 };
  #end = Buffer.alloc(0);
  #toldAt = Number.NEGATIVE_INFINITY;
  #timer: Disposable | undefined;

  constructor(given: StreamOutputDependencies) {
    this.#given = given;
  }

  get total(): number {
    return this.#given.file.total + this.#lost;
  }

  get isTruncated(): boolean {
    return this.#given.file.total > this.#given.capBytes || this.#lost > 0;
  }

  collect(source: Readable): void {
    this.#source = source;
    this.#read = this.#collect(source).catch(() => undefined);
  }

  async finish(): Promise<void> {
    const source = this.#source;
    if (source && !source.readableEnded && !source.destroyed) {
      const ended = once(source, 'close').then(() => true);
      ended.catch(() => undefined);
      for (let quiet = 0; quiet < QUIET_LOOKS;) {
        const before = this.#chunks;
        if (await Promise.race([ended, this.#look()])) break;
        quiet = this.#chunks === before && !this.#isWriting ? quiet + 1 : 0;
      }
      source.destroy();
    }
    await this.#read;
    await this.#given.file.close().catch(this.#given.onError);
  }

  flush(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const { offset, head, bytes } = this.#untold;
    if (bytes === 0) return;
    // Half a character waits for its other half; at the very end it is told as it is.
    const isOver = this.#source === undefined || this.#source.destroyed;
    const incomplete = isOver ? 0 : Math.min(incompleteBytes(this.#end), bytes);
    if (incomplete === bytes) return;
    const told = bytes - incomplete;
    const room = Math.min(EVENT_TEXT_BYTES, this.#given.budget.text, told);
    let text = head.subarray(0, room);
    if (room < told || incomplete > 0) text = text.subarray(0, text.length - incompleteBytes(text));
    // What is left of it but is no whole character is spent too.
    this.#given.budget.text =
      room === this.#given.budget.text ? 0 : this.#given.budget.text - text.length;
    this.#untold = {
      offset: offset + told,
      head: this.#end.subarray(this.#end.length - incomplete),
      bytes: incomplete,
    };
    this.#toldAt = this.#given.clock.monotonic();
    this.#given.tell({ offset, bytes: told, text: text.toString('utf8') });
  }

  /** A pause, and a turn of the event loop: the exit may be known before what was printed last could be read. */
  async #look(): Promise<false> {
    await this.#given.clock.sleep(LOOK_MS);
    await new Promise((resolve) => setImmediate(resolve));
    return false;
  }

  async #collect(source: Readable): Promise<void> {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      this.#chunks++;
      this.#isWriting = true;
      const before = this.total;
      try {
        if (this.#lost > 0) this.#lost += chunk.length;
        else await this.#given.file.append(chunk);
      } catch (error) {
        this.#lost = before - this.#given.file.total + chunk.length;
        this.#given.onError(error);
      }
      this.#isWriting = false;
      this.#given.onChunk(chunk);
      if (before < this.#given.capBytes) this.#note(chunk);
    }
  }

  #note(chunk: Buffer): void {
    const { head, bytes, offset } = this.#untold;
    const room = EVENT_TEXT_BYTES + 4 - head.length;
    this.#untold = {
      offset,
      head: room > 0 ? Buffer.concat([head, chunk.subarray(0, room)]) : head,
      bytes: bytes + chunk.length,
    };
    this.#end = Buffer.concat([this.#end, chunk.subarray(-4)]).subarray(-4);
    const pause =
      this.#given.budget.text > 0
        ? JOIN_MS
        : this.#toldAt + SELDOM_MS - this.#given.clock.monotonic();
    this.#timer ??= this.#given.clock.after(Math.max(JOIN_MS, pause), () => this.flush());
  }
}
