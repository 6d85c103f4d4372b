import { DELTA_KINDS } from './names.ts';

/** Kinds of the messages that a mirror writes of itself, beside the events of its log. */
export const EPOCH_KIND = 'fleet.epoch';
export const GAP_KIND = 'fleet.gap';
/** The kind of the message that frees the name of a node. It is of no log, so readers pass it over. */
export const REPLACED_KIND = 'fleet.replaced';

/** An event as the stream has it, or a message of the mirror itself. */
export interface MirroredMessage {
  /** Its number in the stream. */
  streamSeq: number;
  node: string;
  kind: string;
  /** The id of the log that the event is of. */
  epoch: string;
  /** The seq of the event in its log; of a message of the mirror itself, the seq that it had come to. */
  seq: number;
  /** The seq of the newest event before this one, in this log, that stays; 0: there is none. */
  prev: number;
  /** The id of the event; null for a message of the mirror itself. */
  id: string | null;
  /** The event as it is stored, or the payload of the message, as JSON. */
  text: string;
}

/** The payload of `fleet.epoch`: a mirror continues with another log. */
export interface EpochMark {
  from: { epoch: string; seq: number };
  /** The next log. It shares the events up to `after` with the previous log. With 0, the logs share no events. */
  to: { epoch: string; after: number };
}

/** Events left the log before they were mirrored: the payload of `fleet.gap`. */
export interface GapMark {
  /** Everything up to here had been mirrored. */
  after: number;
  /** Some events up to this seq are missing. */
  up_to: number;
}

/** Whether a message is of the mirror itself. */
export function isMark(kind: string): boolean {
  return kind === EPOCH_KIND || kind === GAP_KIND;
}

/** Whether a message is an event that stays: deltas leave log and stream by themselves. */
export function stays(kind: string): boolean {
  return !DELTA_KINDS.has(kind) && !isMark(kind);
}

/** The seq of the newest event that stays, up to and with this message. */
export function newestStaying({ kind, seq, prev }: Pick<MirroredMessage, 'kind' | 'seq' | 'prev'>) {
  return stays(kind) ? seq : prev;
}
