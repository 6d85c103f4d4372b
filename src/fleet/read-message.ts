import type { MsgHdrs } from '@nats-io/transport-node';
import type { MirroredMessage } from './mirrored.ts';
import { eventHeaders, eventSubject } from './names.ts';

/** A message of the stream, from its subject, headers and text. Throws an Error for one that no mirror has written. */
export function readMessage(
  subject: string,
  headers: MsgHdrs | undefined,
  streamSeq: number,
  text: string,
): MirroredMessage {
  const whose = eventSubject(subject);
  if (!whose || !headers) throw new Error(`message ${streamSeq} of the stream is no event`);
  return {
    ...whose,
    streamSeq,
    epoch: headers.get(eventHeaders.epoch),
    seq: Number(headers.get(eventHeaders.seq)),
    prev: Number(headers.get(eventHeaders.prev)),
    id: headers.get(eventHeaders.id) || null,
    text,
  };
}
