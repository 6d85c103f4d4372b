import { isUnreachable } from '../api/errors.ts';
import { PATIENCE_MS } from './nats-api.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { FleetCursor, LogMark } from './cursor.ts';
import {
  EPOCH_KIND,
  type EpochMark,
  GAP_KIND,
  type GapMark,
  type MirroredMessage,
  stays,
} from './mirrored.ts';
import type { From, ReaderStream } from './nats-reader-stream.ts';

/** An event of a node. `text` is its record as JSON, as that node has it. */
export type FleetEvent = Pick<MirroredMessage, 'node' | 'epoch' | 'seq' | 'kind' | 'text'>;

/** Something else than an event that whoever reads a fleet has to know. */
export type FleetNotice =
  | { node: string; kind: 'epoch'; mark: EpochMark }
  /** Events after `after` and up to `up_to` are missing, and why. */
  | { node: string; kind: 'gap'; after: number; up_to: number; why: string }
  /** The stream is not what it was: it is read again from some time before. */
  | { node: null; kind: 'rewind' }
  | { node: null; kind: 'lost'; why: string };

export interface ReaderParts {
  stream: ReaderStream;
  clock: Clock;
  /** Moves with each event that is yielded, just before it is. */
  cursor: FleetCursor;
  /** Asks a node for its events after `after` up to `upTo`, with notices. Rejects if the node cannot be asked. */
  fill: (node: string, epoch: string, after: number, upTo: number) => Promise<FleetItem[]>;
}

/** Where a cursor that has no position yet begins. `since`: Unix milliseconds. */
export type Begin = 'start' | 'latest' | { since: number };

export interface ReadOptions {
  /** Waits for more behind the newest message. */
  follow: boolean;
  signal: AbortSignal;
  begin?: Begin;
}

export type FleetItem = { event: FleetEvent } | { notice: FleetNotice };

/** After a loss the stream is read again from this long before the last message, in ms. */
const REWIND_MS = 10 * 60_000;
/** The pause before NATS is asked again: it starts here and doubles up to the maximum, in ms. */
const RETRY_MS = 100;
const MAX_RETRY_MS = 2000;

/**
 * Yields the events of all nodes in the order of the stream, the events of a node in the order of its log, and each
 * event once. If NATS loses acknowledged messages, the nodes write them again, and the reader reads again from an
 * earlier time. Ends when `signal` aborts and, unless `follow`, after the newest message.
 */
export async function* readFleet(
  parts: ReaderParts,
  { follow, signal, begin = 'start' }: ReadOptions,
): AsyncGenerator<FleetItem, void> {
  const { stream, clock, cursor } = parts;
  let pause = RETRY_MS;
  let stumbled: number | undefined;
  while (!signal.aborted) {
    const before = cursor.position.seq;
    try {
      const { from, isRewind } = await whereToBegin(parts, begin);
      if (isRewind) yield { notice: { node: null, kind: 'rewind' } };
      for await (const { message, at } of stream.read(from, { follow, signal })) {
        yield* taken(parts, message);
        cursor.pass(message, at);
      }
      if (!follow) return;
    } catch (error) {
      if (signal.aborted) return;
      stumbled ??= clock.monotonic();
      const isOver = clock.monotonic() - stumbled >= PATIENCE_MS;
      if (!follow && (isOver || !isUnreachable(error))) throw error;
      if (follow && pause === RETRY_MS)
        yield { notice: { node: null, kind: 'lost', why: (error as Error).message } };
      pause = Math.min(pause * 2, MAX_RETRY_MS);
    }
    if (cursor.position.seq !== before) [pause, stumbled] = [RETRY_MS, undefined];
    await clock.sleep(pause, signal).catch(() => undefined);
  }
}

/** Behind the cursor where the stream is still what it was; else some time before. */
async function whereToBegin(
  { stream, cursor, clock }: ReaderParts,
  begin: Begin,
): Promise<{ from: From; isRewind: boolean }> {
  const { id, first, last } = await stream.info();
  const isNew = cursor.position.stream === null;
  if (isNew && begin === 'latest' && last > 0) cursor.enter(id, { seq: last, at: clock.now() });
  else if (isNew) cursor.enter(id, { seq: 0, at: typeof begin === 'object' ? begin.since : null });
  if (cursor.position.stream !== id) {
    cursor.enter(id, { seq: 0, at: null });
    return { from: { after: 0 }, isRewind: true };
  }
  const { seq, at, last: stayed } = cursor.position;
  if (seq === 0 && at !== null) return { from: { time: at }, isRewind: false };
  if (seq <= last && (await isUnchanged(stream, cursor, first)))
    // Deltas behind the last message that stays may be others by now: those that are known are skipped.
    return { from: { after: Math.min(seq, stayed?.seq ?? seq) }, isRewind: false };
  return { from: at === null ? { after: 0 } : { time: at - REWIND_MS }, isRewind: true };
}

/** Looks at the last message that stays: it is the same one, or retention has taken it. */
async function isUnchanged(
  stream: ReaderStream,
  { position: { last } }: FleetCursor,
  first: number,
): Promise<boolean> {
  if (last === null || last.seq < first) return true;
  return (await stream.idAt(last.seq)) === last.id;
}

/** The items of a message: none if it is known already, and first the missing events before it. */
async function* taken(parts: ReaderParts, message: MirroredMessage): AsyncGenerator<FleetItem> {
  const { cursor } = parts;
  const { node, epoch, seq, prev, kind, text } = message;
  const mark = cursor.markOf(node, epoch);
  if (kind === EPOCH_KIND) {
    if (mark) return;
    const { to } = JSON.parse(text) as EpochMark;
    cursor.mark(node, epoch, { seq: to.after, stays: to.after });
    yield { notice: { node, kind: 'epoch', mark: JSON.parse(text) as EpochMark } };
  } else if (kind === GAP_KIND) {
    const gap = JSON.parse(text) as GapMark;
    if (!mark || gap.after >= mark.seq)
      yield {
        notice: {
          node,
          kind: 'gap',
          ...gap,
          why: 'retention removed them before they were mirrored',
        },
      };
  } else if (!mark || seq > mark.seq) {
    if (mark && prev > mark.stays && prev > mark.seq) yield* filled(parts, message, mark);
    cursor.advance(message);
    yield { event: { node, epoch, seq, kind, text } };
  }
}

/** The events between the last one that was taken and a message: NATS lost them, the node has them. */
async function* filled(
  { cursor, fill }: ReaderParts,
  { node, epoch, prev }: MirroredMessage,
  { seq: after, stays: stayed }: LogMark,
): AsyncGenerator<FleetItem> {
  let items: FleetItem[];
  try {
    items = await fill(node, epoch, after, prev);
  } catch (error) {
    const why = `the fleet does not have them, and the request to ${node} failed: ${(error as Error).message}`;
    yield { notice: { node, kind: 'gap', after, up_to: prev, why } };
    return;
  }
  let newest = stayed;
  for (const item of items) {
    if ('event' in item) {
      const { kind, seq } = item.event;
      if (stays(kind)) newest = seq;
      cursor.mark(node, epoch, { seq, stays: newest });
    }
    yield item;
  }
}
