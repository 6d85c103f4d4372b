import type { Readable } from 'node:stream';
import type { Child } from '../../../core/children/supervisor.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { incompleteBytes } from '../../../core/lib/utf8.ts';
import { LogFile, readLog, readLogEnd } from './log-file.ts';
import type { OutputTotals } from './process.ts';

/** Output is batched for so many ms before an event is appended for it, so that many small writes become one event. */
const BATCH_MS = 100;
/** The maximum text of an event, in bytes. It is the beginning of the output that the event announces. */
const EVENT_TEXT_BYTES = 4096;
/** The number of bytes that are kept for the text of the next event, with the rest of its last character. */
const HEAD_BYTES = EVENT_TEXT_BYTES + 4;
/** After so many bytes of text, the events of a process carry none, and come every `SELDOM_MS` at most. */
const TEXT_BUDGET_BYTES = 256 * 1024;
const SELDOM_MS = 500;
/**
 * Another process may keep the pipe open after the process has ended. So reading stops once this many checks in a row, every
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

/** The output of a process that another server has started. */
export interface SurvivingOutput {
  readonly file: LogFile;
  /** The output that no event has announced yet. */
  readonly pending: Pending;
  /** The last bytes of the output. */
  readonly end: Buffer;
}

interface Pending {
  /** Its offset, its first bytes, and its length in bytes. */
  offset: number;
  head: Buffer;
  bytes: number;
}

/** Reads how far an output is in its log, which is continued. `announced`: the end of what events have announced. */
export async function readSurvivingOutput(
  file: string,
  { capBytes, announced }: { capBytes: number; announced: number },
): Promise<SurvivingOutput> {
  const log = await LogFile.continue(file, capBytes);
  const { total, cap } = log;
  const bytes = announced < cap ? Math.max(0, total - announced) : 0;
  const head = await readLog(file, announced, Math.min(bytes, HEAD_BYTES));
  const { bytes: end } = await readLogEnd(file, 4);
  const isWhole = head.from === announced;
  return {
    file: log,
    pending: { offset: announced, head: isWhole ? head.bytes : NOTHING, bytes },
    end,
  };
}

/** A child whose output is stored. */
type OutputChild = Pick<Child, StreamName | 'acknowledge' | 'endOutputs'>;

/** Writes the output of a process to its logs, and announces it in events. */
export class ProcessOutput {
  readonly #streams: Record<StreamName, StreamOutput>;
  readonly #budget: { text: number };
  #child: OutputChild | undefined;

  constructor(options: {
    pathOf: (stream: StreamName) => string;
    capBytes: number;
    /** The output of a process of another server. */
    left?: Record<StreamName, SurvivingOutput> | undefined;
    clock: Clock;
    announce: (payload: OutputPayload) => void;
    /** Called with every chunk, once it is in the log. */
    onChunk: (stream: StreamName, chunk: Buffer) => void;
    /** Called when a write to the disk failed, from which on output is dropped. */
    onError: (error: unknown) => void;
  }) {
    const { clock, capBytes, left } = options;
    // Its events may have had less text than that.
    const announced = left ? left.stdout.pending.offset + left.stderr.pending.offset : 0;
    this.#budget = { text: Math.max(0, TEXT_BUDGET_BYTES - announced) };
    const streamOf = (name: StreamName) =>
      new StreamOutput({
        file: left?.[name].file ?? new LogFile(options.pathOf(name), capBytes),
        left: left?.[name],
        clock,
        budget: this.#budget,
        announce: (payload) => options.announce({ stream: name, ...payload }),
        onChunk: (chunk) => options.onChunk(name, chunk),
        onError: options.onError,
      });
    this.#streams = { stdout: streamOf('stdout'), stderr: streamOf('stderr') };
  }

  collect(child: OutputChild): void {
    this.#child = child;
    for (const name of ['stdout', 'stderr'] as const)
      this.#streams[name].collect(child[name], (upTo) => child.acknowledge(upTo, name));
  }

  /** Reads the rest of the pipes and closes them, even if another process holds their other end open. */
  async drain(): Promise<void> {
    const endsItself = this.#child?.endOutputs() ?? false;
    await Promise.all(Object.values(this.#streams).map((stream) => stream.drain(endsItself)));
  }

  /** Leaves the rest of the output to another server. Resolves once the logs do not change any more. */
  async leave(): Promise<void> {
    await Promise.all(Object.values(this.#streams).map((stream) => stream.leave()));
    this.flush();
  }

  /**
   * Returns the offsets from which this server reads the outputs of a process of another server. `oldest`: the first offsets
   * that are still readable.
   */
  beginsAt(oldest: Record<StreamName, number>): Record<StreamName, number> {
    const { stdout, stderr } = this.#streams;
    return { stdout: stdout.beginsAt(oldest.stdout), stderr: stderr.beginsAt(oldest.stderr) };
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
  left: SurvivingOutput | undefined;
  clock: Clock;
  budget: { text: number };
  announce: (payload: Omit<OutputPayload, 'stream'>) => void;
  onChunk: (chunk: Buffer) => void;
  onError: (error: unknown) => void;
}

class StreamOutput {
  readonly #deps: StreamOutputDependencies;
  #source: Readable | undefined;
  #acknowledge: (upTo: number) => void = () => undefined;
  #isLeft = false;
  readonly #closed = Promise.withResolvers<void>();
  #chunks = 0;
  /** Resolves once all received output is in the log; undefined while nothing is being written. */
  #writing: Promise<void> | undefined;
  /** The number of bytes that could not be written to the disk. */
  #lost = 0;
  /** The output that no event has announced yet. */
  #pending: Pending;
  #end: Buffer;
  #announcedAt = Number.NEGATIVE_INFINITY;
  #timer: Disposable | undefined;

  constructor(deps: StreamOutputDependencies) {
    this.#deps = deps;
    this.#pending = deps.left?.pending ?? { offset: 0, head: NOTHING, bytes: 0 };
    this.#end = deps.left?.end ?? NOTHING;
    if (this.#pending.bytes > 0) this.#announceLater();
  }

  get total(): number {
    return this.#deps.file.total + this.#lost;
  }

  get isTruncated(): boolean {
    return this.#deps.file.total > this.#deps.file.cap || this.#lost > 0;
  }

  /** Returns the offset of the next byte. Bytes that neither the log nor the shim has were lost at a full disk. */
  beginsAt(oldest: number): number {
    const { file } = this.#deps;
    const next = Math.max(file.total, oldest, this.#pending.offset);
    this.#lost = next - file.total;
    return next;
  }

  /** `acknowledge` is called with the offset up to which the output is in the log, or lost. */
  collect(source: Readable, acknowledge: (upTo: number) => void): void {
    this.#source = source;
    this.#acknowledge = acknowledge;
    source.once('close', this.#closed.resolve);
    source.on('error', () => undefined);
    source.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  async leave(): Promise<void> {
    this.#isLeft = true;
    this.#source?.pause();
    await this.#writing;
  }

  async drain(endsItself: boolean): Promise<void> {
    const source = this.#source;
    if (source && !source.closed) {
      const closed = this.#closed.promise.then(() => true);
      await (endsItself ? closed : this.#untilQuiet(closed));
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

  async #untilQuiet(closed: Promise<boolean>): Promise<void> {
    for (let quiet = 0; quiet < QUIET_CHECKS;) {
      const before = this.#chunks;
      if (await this.#pauseUnless(closed)) return;
      quiet = this.#chunks === before && !this.#writing ? quiet + 1 : 0;
    }
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
    if (this.#isLeft) return;
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
      if (!this.#isLeft) this.#source?.resume();
    });
  }

  async #write(chunk: Buffer): Promise<void> {
    const { file, onChunk, onError } = this.#deps;
    const before = this.total;
    try {
      if (this.#lost > 0) this.#lost += chunk.length;
      else await file.append(chunk);
    } catch (error) {
      this.#lost = before - file.total + chunk.length;
      onError(error);
    }
    this.#acknowledge(this.total);
    onChunk(chunk);
    if (before < file.cap) this.#batch(chunk);
  }

  #batch(chunk: Buffer): void {
    const { head, bytes, offset } = this.#pending;
    const room = HEAD_BYTES - head.length;
    this.#pending = {
      offset,
      head: room > 0 ? Buffer.concat([head, chunk.subarray(0, room)]) : head,
      bytes: bytes + chunk.length,
    };
    this.#end = Buffer.concat([this.#end, chunk.subarray(-4)]).subarray(-4);
    this.#announceLater();
  }

  #announceLater(): void {
    const pause =
      this.#deps.budget.text > 0
        ? BATCH_MS
        : this.#announcedAt + SELDOM_MS - this.#deps.clock.monotonic();
    this.#timer ??= this.#deps.clock.after(Math.max(BATCH_MS, pause), () => this.flush());
  }
}
