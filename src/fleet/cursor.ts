import { usageError } from '../api/errors.ts';
import { parsedJson } from '../core/lib/parsed-json.ts';
import type { MirroredMessage } from './mirrored.ts';
import { newestStaying, stays } from './mirrored.ts';

/** How far a reader has come with one log of a node. */
export interface LogMark {
  /** The newest seq that was taken. */
  seq: number;
  /** The newest seq up to it that stays. */
  stays: number;
}

interface State {
  v: 1;
  /** The id of the stream; null before the first message. */
  stream: string | null;
  /** The number of the last message that was taken. */
  seq: number;
  /** When the engine stored it, in Unix milliseconds. */
  at: number | null;
  /** The last message that was taken and stays: by it the reader sees whether the stream is what it was. */
  last: { seq: number; id: string } | null;
  /** How far the reader has come with each log of each node, by `NODE EPOCH`. */
  logs: Record<string, LogMark>;
}

/** The place of a reader in the stream, and in every log that it holds. */
export class FleetCursor {
  readonly #state: State;

  private constructor(of: State) {
    this.#state = of;
  }

  /** A cursor before everything. */
  static start(): FleetCursor {
    return new FleetCursor({ v: 1, stream: null, seq: 0, at: null, last: null, logs: {} });
  }

  /** Throws `usage` for a text that `toString` has not made. */
  static parse(text: string): FleetCursor {
    const found = parsedJson(Buffer.from(text, 'base64url').toString());
    if (isState(found)) return new FleetCursor(found);
    throw usageError(
      'the event cursor is not from a fleet: read the events again without a cursor',
    );
  }

  /** The cursor as one opaque word. */
  toString(): string {
    return Buffer.from(JSON.stringify(this.#state)).toString('base64url');
  }

  get position(): Readonly<Omit<State, 'v' | 'logs'>> {
    return this.#state;
  }

  /** Moves to a stream: behind `seq`, or to the time `at`. */
  enter(stream: string, { seq, at }: { seq: number; at: number | null }): void {
    Object.assign(this.#state, { stream, seq, at, last: null });
  }

  /** How far the reader has come with a log; undefined: it has seen none of it. */
  markOf(node: string, epoch: string): LogMark | undefined {
    return this.#state.logs[`${node} ${epoch}`];
  }

  /** Notes how far the reader has come with a log. */
  mark(node: string, epoch: string, to: LogMark): void {
    this.#state.logs[`${node} ${epoch}`] = to;
  }

  /** Notes that an event was taken. */
  advance({
    node,
    epoch,
    kind,
    seq,
    prev,
  }: Omit<MirroredMessage, 'streamSeq' | 'text' | 'id'>): void {
    this.mark(node, epoch, { seq, stays: newestStaying({ kind, seq, prev }) });
  }

  /** Notes that everything up to a message of the stream was taken. */
  pass({ streamSeq, kind, id }: MirroredMessage, at: number): void {
    this.#state.seq = streamSeq;
    this.#state.at = at;
    if (id !== null && stays(kind)) this.#state.last = { seq: streamSeq, id };
  }
}

function isState(found: unknown): found is State {
  if (typeof found !== 'object' || found === null) return false;
  const { v, stream, seq, at, last, logs } = found as Partial<State>;
  return (
    v === 1 &&
    (stream === null || typeof stream === 'string') &&
    Number.isSafeInteger(seq) &&
    (at === null || Number.isFinite(at)) &&
    (last === null || (Number.isSafeInteger(last?.seq) && typeof last?.id === 'string')) &&
    typeof logs === 'object' &&
    logs !== null &&
    Object.values(logs as Record<string, LogMark | null>).every(
      (mark) => mark !== null && Number.isSafeInteger(mark.seq + mark.stays),
    )
  );
}
