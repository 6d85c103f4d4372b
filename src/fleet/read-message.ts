import type { MsgHdrs } from '@nats-io/transport-node';
import type { RuntimeEventRecord } from '../api/events.ts';
import { runtimeEventRecord } from '../api/event-schemas.ts';
import { EPOCH_KIND, type EpochMark, GAP_KIND, type GapMark, isMark } from './mirrored.ts';
import type { MirroredMessage } from './mirrored.ts';
import { eventHeaders, eventSubject } from './names.ts';
import { parsedJson } from '../core/lib/parsed-json.ts';

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
