import type { LogEntry } from './log.ts';

/** Bytes after the text of an event in its frame. */
export const END_OF_FRAME = '\n\n';

/** Returns what precedes the text of an event in its frame (interface 9.5). */
export function headOfFrame(seq: number, kind: string): string {
  return `id: ${seq}\nevent: ${kind}\ndata: `;
}

/** Streams that are up to date share an entry, so they share its frame. */
const frames = new WeakMap<LogEntry, Buffer>();

/** Returns the frame of an entry, which is made once. */
export function frameOf(entry: LogEntry): Buffer {
  let frame = frames.get(entry);
  if (!frame) {
    frame = Buffer.from(headOfFrame(entry.seq, entry.kind) + entry.text + END_OF_FRAME);
    frames.set(entry, frame);
  }
  return frame;
}

/** Returns the entries of consecutive frames, for a subscriber that is not a stream. */
export function entriesOf(page: Buffer): LogEntry[] {
  const frames = page.toString().split(END_OF_FRAME).slice(0, -1);
  return frames.map((frame) => {
    const [id = '', event = '', data = ''] = frame.split('\n');
    return {
      seq: Number(id.slice('id: '.length)),
      kind: event.slice('event: '.length),
      text: data.slice('data: '.length),
    };
  });
}
