import type { Readable } from 'node:stream';
import type { Clock } from '../../../core/lib/clock.ts';
import { incompleteBytes } from '../../../core/lib/utf8.ts';
import { LogFile } from './log-file.ts';
import type { OutputTotals } from './process.ts';

/** Output is batched for so many ms before an event is appended for it, so that many small writes become one event. */
const BATCH_MS = 100;
/** The maximum text of an event, in bytes. It is the beginning of the output that the event announces. */
const EVENT_TEXT_BYTES = 4096;
/** After so many bytes of text, the events of a process carry none, and come every `SELDOM_MS` at most. */
const TEXT_BUDGET_BYTES = 256 * 1024;
const SELDOM_MS = 500;
/**
 * Another process may keep the pipe open after the end of ours. So reading stops once this many checks in a row, every
 * `CHECK_MS`, have found no new output.
 */
const QUIET_CHECKS = 3;
const CHECK_MS = 10;

const NOTHING = Buffer.alloc(0);

export type StreamName = 'stdout' | 'stderr';

export interface OutputPayload {
  stream: StreamName;
  offset: number;
  bytes: number;
  text: string;
}

/** Writes the output of a process to its logs, and announces it in events. */
export class ProcessOutput {
  readonly #streams: Record<StreamName, StreamOutput>;
  readonly #budget = { text: TEXT_BUDGET_BYTES };

  constructor(options: {
    pathOf: (stream: StreamName) => string;
    capBytes: number;
    clock: Clock;
    announce: (payload: OutputPayload) => void;
    /** Called with every chunk, once it is in the log. */
    onChunk: (stream: StreamName, chunk: Buffer) => void;
    /** Called when a write to the disk failed, from which on output is dropped. */
    onError: (error: unknown) => void;
  }) {
    const { clock, capBytes } = options;
    const streamOf = (name: StreamName) =>
      new StreamOutput({
        file: new LogFile(options.pathOf(name), capBytes),
        capBytes,
        clock,
        budget: this.#budget,
        announce: (payload) => options.announce({ stream: name, ...payload }),
        onChunk: (chunk) => options.onChunk(name, chunk),
        onError: options.onError,
      });
    this.#streams = { stdout: streamOf('stdout'), stderr: streamOf('stderr') };
  }

  collect(child: Record<StreamName, Readable>): void {
    for (const name of ['stdout', 'stderr'] as const) this.#streams[name].collect(child[name]);
  }

  /** Reads the rest of the pipes and closes them, even if another process holds their other end open. */
  async drain(): Promise<void> {
    await Promise.all(Object.values(this.#streams).map((stream) => stream.drain()));
  }

  flush(): void {
    for (const stream of Object.values(this.#streams)) stream.flush();
  }

  get totals(): OutputTotals {
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
  announce: (payload: Omit<OutputPayload, 'stream'>) => void;
  onChunk: (chunk: Buffer) => void;
  onError: (error: unknown) => void;
}

class StreamOutput {
  readonly #deps: StreamOutputDependencies;
  #source: Readable | undefined;
  readonly #closed = Promise.withResolvers<void>();
  #chunks = 0;
  /** Resolves once all output that has come is in the log; undefined while nothing is being written. */
  #writing: Promise<void> | undefined;
  /** The number of bytes that could not be written to the disk. */
  #lost = 0;
  /** The output that no event has announced yet: its offset, its first bytes and its length in bytes. */
  #pending = { offset: 0, head: NOTHING, bytes: 0 };
  #end = NOTHING;
  #announcedAt = Number.NEGATIVE_INFINITY;
  #timer: Disposable | undefined;

  constructor(deps: StreamOutputDependencies) {
    this.#deps = deps;
  }

  get total(): number {
    return this.#deps.file.total + this.#lost;
  }

  get isTruncated(): boolean {
    return this.#deps.file.total > this.#deps.capBytes || this.#lost > 0;
  }

  collect(source: Readable): void {
    this.#source = source;
    source.once('close', this.#closed.resolve);
    source.on('error', () => undefined);
    source.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  async drain(): Promise<void> {
    const source = this.#source;
    if (source && !source.closed) {
      const closed = this.#closed.promise.then(() => true);
      for (let quiet = 0; quiet < QUIET_CHECKS;) {
        const before = this.#chunks;
        if (await this.#pauseUnless(closed)) break;
        quiet = this.#chunks === before && !this.#writing ? quiet + 1 : 0;
      }
      source.destroy();
    }
    await this.#writing;
    // A process that has ended has its checksums.
    await this.#deps.file.close().catch(this.#deps.onError);
  }

  flush(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const { offset, head, bytes } = this.#pending;
    if (bytes === 0) return;
    // An incomplete character waits for its other bytes. At the end of the stream it is announced as it is.
    const isOver = this.#source === undefined || this.#source.destroyed;
    const incomplete = isOver ? 0 : Math.min(incompleteBytes(this.#end), bytes);
    if (incomplete === bytes) return;
    const announced = bytes - incomplete;
    const room = Math.min(EVENT_TEXT_BYTES, this.#deps.budget.text, announced);
    let text = head.subarray(0, room);
    if (room < announced || incomplete > 0)
      text = text.subarray(0, text.length - incompleteBytes(text));
    // A rest of the budget that is too small for the next character counts as spent.
    this.#deps.budget.text =
      room === this.#deps.budget.text ? 0 : this.#deps.budget.text - text.length;
    this.#pending = {
      offset: offset + announced,
      head: this.#end.subarray(this.#end.length - incomplete),
      bytes: incomplete,
    };
    this.#announcedAt = this.#deps.clock.monotonic();
    this.#deps.announce({ offset, bytes: announced, text: text.toString('utf8') });
  }

  /** Waits, and yields to the event loop, because the exit may be known before the last output can be read. */
  async #pauseUnless(closed: Promise<boolean>): Promise<boolean> {
    const paused = Promise.withResolvers<boolean>();
    using _pause = this.#deps.clock.after(CHECK_MS, () =>
      setImmediate(() => paused.resolve(false)),
    );
    return await Promise.race([closed, paused.promise]);
  }

  /** Takes output. While some is being written, more waits, and the source is not read. */
  #take(chunk: Buffer): void {
    this.#chunks++;
    this.#source?.pause();
    const written = this.#writing
      ? this.#writing.then(() => this.#write(chunk))
      : this.#write(chunk);
    this.#writing = written;
    void written.then(() => {
      // More may have come nevertheless, because Node resumes the streams of a child that has exited.
      if (this.#writing !== written) return;
      this.#writing = undefined;
      this.#source?.resume();
    });
  }

  async #write(chunk: Buffer): Promise<void> {
    const { file, onChunk, onError, capBytes } = this.#deps;
    const before = this.total;
    try {
      if (this.#lost > 0) this.#lost += chunk.length;
      else await file.append(chunk);
    } catch (error) {
      this.#lost = before - file.total + chunk.length;
      onError(error);
    }
    onChunk(chunk);
    if (before < capBytes) this.#batch(chunk);
  }

  #batch(chunk: Buffer): void {
    const { head, bytes, offset } = this.#pending;
    const room = EVENT_TEXT_BYTES + 4 - head.length;
    this.#pending = {
      offset,
      head: room > 0 ? Buffer.concat([head, chunk.subarray(0, room)]) : head,
      bytes: bytes + chunk.length,
    };
    this.#end = Buffer.concat([this.#end, chunk.subarray(-4)]).subarray(-4);
    const pause =
      this.#deps.budget.text > 0
        ? BATCH_MS
        : this.#announcedAt + SELDOM_MS - this.#deps.clock.monotonic();
    this.#timer ??= this.#deps.clock.after(Math.max(BATCH_MS, pause), () => this.flush());
  }
}
