import { z } from 'zod';
import { usageError } from '../api/errors.ts';
import { parsedJson } from '../core/lib/parsed-json.ts';
import { type MirroredMessage, newestStaying, stays } from './mirrored.ts';

const logMark = z.object({
  /** The newest seq that was taken. */
  seq: z.int(),
  /** The newest seq up to it that stays. */
  stays: z.int(),
});

/** How far a reader has come with one log of a node. */
export type LogMark = z.output<typeof logMark>;

const cursorState = z.object({
  v: z.literal(1),
  /** The id of the stream; null before the first message. */
  stream: z.string().nullable(),
  /** The number of the last message that was taken. */
  seq: z.int(),
  /** When NATS stored it, or the reader began behind it, in Unix milliseconds. */
  at: z.number().nullable(),
  /** The last message that was taken and stays: by it the reader sees whether the stream is what it was. */
  last: z.object({ seq: z.int(), id: z.string() }).nullable(),
  /** How far the reader has come with each log of each node, by `NODE EPOCH`. */
  logs: z.record(z.string(), logMark),
});

type State = z.output<typeof cursorState>;

/** The position of a reader in the stream, and in every log that it holds. */
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
    const found = cursorState.safeParse(parsedJson(Buffer.from(text, 'base64url').toString()));
    if (found.success) return new FleetCursor(found.data);
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

  mark(node: string, epoch: string, to: LogMark): void {
    this.#state.logs[`${node} ${epoch}`] = to;
  }

  advance(message: Omit<MirroredMessage, 'streamSeq' | 'text' | 'id'>): void {
    const { node, epoch, seq } = message;
    this.mark(node, epoch, { seq, stays: newestStaying(message) });
  }

  /** Notes that everything up to a message of the stream was taken. */
  pass({ streamSeq, kind, id }: MirroredMessage, at: number): void {
    this.#state.seq = streamSeq;
    this.#state.at = at;
    if (id !== null && stays(kind)) this.#state.last = { seq: streamSeq, id };
  }
}
