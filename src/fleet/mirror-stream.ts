import type { MirroredMessage } from './mirrored.ts';

/** The newest message of a node in the stream. */
export type Head = MirroredMessage;

/** An event, or a message of the mirror itself, that is to be written. */
export interface Draft {
  kind: string;
  seq: number;
  text: string;
}

/** Messages that are written together, or not at all. */
export interface Batch {
  epoch: string;
  /** The message of this node that has to be its newest one in the stream, by its number there; 0: there is none. */
  expected: number;
  /** The seq of the newest event that stays before the first draft. */
  prev: number;
  drafts: readonly Draft[];
}

/** The stream of a fleet, for a mirror. Every method rejects if NATS does not answer. */
export interface MirrorStream {
  /** The random id that the stream was made with. */
  id(): Promise<string>;
  /** Whether retention of the stream may have taken a message by its number; null: a message of an unknown number. */
  mayHaveRetired(streamSeq: number | null): Promise<boolean>;
  /** The newest message of this node; null if the stream has none. It may be stale: the fence of `publish` refuses what follows from that. */
  head(): Promise<Head | null>;
  /**
   * Writes a batch; resolves with the number of its last message in the stream. Rejects with `Refused` where the newest
   * message of this node is not the expected one; any other error leaves open whether the batch was written.
   */
  publish(batch: Batch): Promise<number>;
}

/** The engine refused a batch because the newest message of the node is another than was expected. */
export class Refused extends Error {}
