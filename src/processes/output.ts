import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import { incompleteBytes } from '../lib/utf8.ts';
import { LogFile } from './log-file.ts';

/** Output is collected for so long before an event is appended for it: many small writes become one event. */
const JOIN_MS = 100;
/** An event carries at most the first so many bytes of the output that it announces. */
const EVENT_TEXT_BYTES = 4096;
/** Once events of one process have carried so much text, they carry none, and come at most every `SELDOM_MS`. */
const TEXT_BUDGET_BYTES = 256 * 1024;
const SELDOM_MS = 500;
/**
 * Another process may keep the pipe open after the end of ours: reading stops once so many looks, `LOOK_MS` apart, have
 * found no new output.
 */
const QUIET_LOOKS = 3;
const LOOK_MS = 10;

export type StreamName = 'stdout' | 'stderr';

/** The payload of a `process.output` event. */
export interface OutputPayload {
  stream: StreamName;
  offset: number;
  bytes: number;
  text: string;
}

/** What a process prints: all of it into its files, some of it into events. */
export class ProcessOutput {
  readonly #announce: (news: OutputPayload) => void;
  readonly #streams: Record<StreamName, StreamOutput>;
  readonly #budget = { text: TEXT_BUDGET_BYTES };

  constructor(given: {
    pathOf: (stream: StreamName) => string;
    capBytes: number;
    clock: Clock;
    /** Appends an event about output. */
    announce: (news: OutputPayload) => void;
    /** Called with every chunk, once it is in the file. */
    onChunk: (stream: StreamName, chunk: Buffer) => void;
    /** Called where the disk takes no more: later output is dropped. */
    onError: (error: unknown) => void;
  }) {
    const { clock, capBytes } = given;
    this.#announce = given.announce;
    const streamOf = (name: StreamName) =>
      new StreamOutput({
        file: new LogFile(given.pathOf(name), capBytes),
        capBytes,
        clock,
        budget: this.#budget,
        announce: (news) => this.#announce({ stream: name, ...news }),
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

  /** Appends events for the output that is collected. */
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
  announce: (news: Omit<OutputPayload, 'stream'>) => void;
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
  /** The output that no event has announced: where it begins, its first bytes, its length in bytes. */
  #pending = { offset: 0, head: Buffer.alloc(0), bytes: 0 };
  #end = Buffer.alloc(0);
  #announcedAt = Number.NEGATIVE_INFINITY;
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
    const { offset, head, bytes } = this.#pending;
    if (bytes === 0) return;
    // Half a character waits for its other half; at the very end it is announced as it is.
    const isOver = this.#source === undefined || this.#source.destroyed;
    const incomplete = isOver ? 0 : Math.min(incompleteBytes(this.#end), bytes);
    if (incomplete === bytes) return;
    const announced = bytes - incomplete;
    const room = Math.min(EVENT_TEXT_BYTES, this.#given.budget.text, announced);
    let text = head.subarray(0, room);
    if (room < announced || incomplete > 0)
      text = text.subarray(0, text.length - incompleteBytes(text));
    // A rest of the budget that is no whole character is spent too.
    this.#given.budget.text =
      room === this.#given.budget.text ? 0 : this.#given.budget.text - text.length;
    this.#pending = {
      offset: offset + announced,
      head: this.#end.subarray(this.#end.length - incomplete),
      bytes: incomplete,
    };
    this.#announcedAt = this.#given.clock.monotonic();
    this.#given.announce({ offset, bytes: announced, text: text.toString('utf8') });
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
    const { head, bytes, offset } = this.#pending;
    const room = EVENT_TEXT_BYTES + 4 - head.length;
    this.#pending = {
      offset,
      head: room > 0 ? Buffer.concat([head, chunk.subarray(0, room)]) : head,
      bytes: bytes + chunk.length,
    };
    this.#end = Buffer.concat([this.#end, chunk.subarray(-4)]).subarray(-4);
    const pause =
      this.#given.budget.text > 0
        ? JOIN_MS
        : this.#announcedAt + SELDOM_MS - this.#given.clock.monotonic();
    this.#timer ??= this.#given.clock.after(Math.max(JOIN_MS, pause), () => this.flush());
  }
}
