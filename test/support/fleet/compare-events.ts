import {
  isDelta,
  isDescribed,
  type RuntimeEventRecord,
  settles,
  settlesWith,
} from '../../../src/api/events.ts';
import { isMark, stays } from '../../../src/fleet/mirrored.ts';

/** An event that a mirror or a reader has received. */
export interface ReceivedEvent {
  seq: number;
  kind: string;
  text: string;
  /** The link of the mirror. Absent for a reader. */
  prev?: number;
}

/** The first five counts are 0 if nothing is wrong. */
export interface EventComparison {
  /** Missing events of the server or its log. Deltas of closed items do not count, because they leave the log. */
  lost: number;
  doubled: number;
  disorder: number;
  /** Events with another text than on the server. */
  changed: number;
  /** Links to an event other than the one before. */
  broken: number;
  /** The number of events that were read, and the number that could be read. */
  received: number;
  expected: number;
  /** Deltas of closed items that are missing. */
  compacted: number;
}

/** Compares the events that a mirror or reader has received of one log, in order, with the server's events, by seq. */
export function compareEvents(
  shown: ReadonlyMap<number, string>,
  received: readonly ReceivedEvent[],
): EventComparison {
  const events = received.filter(({ kind }) => !isMark(kind));
  const seen = new Set<number>();
  const closed = new Set<string>();
  const comparison = { lost: 0, doubled: 0, disorder: 0, changed: 0, broken: 0, compacted: 0 };
  let last = 0;
  let newest: number | null = null;
  for (const { seq, kind, text, prev } of events) {
    if (seen.has(seq)) comparison.doubled++;
    else if (seq < last) comparison.disorder++;
    if (prev !== undefined && newest !== null && prev !== newest) comparison.broken++;
    if (stays(kind)) newest = seq;
    seen.add(seq);
    last = Math.max(last, seq);
    if ((shown.get(seq) ?? text) !== text) comparison.changed++;
    const event = JSON.parse(text) as RuntimeEventRecord;
    if (isDescribed(event) && settles(event)) closed.add(settlesWith(event));
  }
  for (const [seq, text] of shown) {
    if (seen.has(seq)) continue;
    const event = JSON.parse(text) as RuntimeEventRecord;
    if (isDelta(event) && closed.has(settlesWith(event))) comparison.compacted++;
    else comparison.lost++;
  }
  return { ...comparison, received: events.length, expected: shown.size };
}

/** The counts of a comparison without faults. */
export const noFaults = { lost: 0, doubled: 0, disorder: 0, changed: 0, broken: 0 };
