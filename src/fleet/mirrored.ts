import type { MsgHdrs } from '@nats-io/transport-node';
import { runtimeEventRecord } from '../api/event-schemas.ts';
import type { RuntimeEventRecord } from '../api/events.ts';
import { parsedJson } from '../core/lib/parsed-json.ts';
import { DELTA_KINDS, eventHeaders, eventSubject } from './names.ts';

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

/**
 * A message of the stream, from its subject, headers and text; null for one that no mirror has written. Whoever may write
 * as one node must not end the reading of all others, so what it writes is looked at here.
 */
export function readMessage(
  subject: string,
  headers: MsgHdrs | undefined,
  streamSeq: number,
  text: string,
): MirroredMessage | null {
  const whose = eventSubject(subject);
  if (!whose || !headers) return null;
  const epoch = headers.get(eventHeaders.epoch);
  const seq = countIn(headers.get(eventHeaders.seq));
  const prev = countIn(headers.get(eventHeaders.prev));
  if (!EPOCH.test(epoch) || seq === null || prev === null) return null;
  const isSound = isMark(whose.kind) ? prev <= seq && isMarkText(whose.kind, text) : prev < seq;
  if (!isSound) return null;
  return { ...whose, streamSeq, epoch, seq, prev, id: headers.get(eventHeaders.id) || null, text };
}

/** The event in the text of a message; null where it is another than the headers say, or none at all. */
export function readEvent(
  text: string,
  { seq, kind }: Pick<MirroredMessage, 'seq' | 'kind'>,
): RuntimeEventRecord | null {
  const event = parsedJson(text) as RuntimeEventRecord | null | undefined;
  const isMeant = event?.seq === seq && event.kind === kind;
  return isMeant && runtimeEventRecord.safeParse(event).success ? event : null;
}

const EPOCH = /^[\w-]{1,128}$/;

/** A count, as a header has it; null for any other text. */
function countIn(text: string): number | null {
  const count = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(count) ? count : null;
}

function isMarkText(kind: string, text: string): boolean {
  if (kind === GAP_KIND) {
    const gap = parsedJson(text) as Partial<GapMark> | null | undefined;
    return Number.isSafeInteger(gap?.after) && Number.isSafeInteger(gap?.up_to);
  }
  if (kind !== EPOCH_KIND) return false;
  const { from, to } = (parsedJson(text) ?? {}) as Partial<EpochMark>;
  return Number.isSafeInteger(from?.seq) && Number.isSafeInteger(to?.after);
}
