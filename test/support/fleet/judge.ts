import {
  isDelta,
  isDescribed,
  type RuntimeEventRecord,
  settles,
  settlesWith,
} from '../../../src/api/events.ts';
import { isMark, stays } from '../../../src/fleet/mirrored.ts';

/** An event as a mirror or a reader had it. */
export interface Had {
  seq: number;
  kind: string;
  text: string;
  /** The link of the mirror; absent where a reader is judged. */
  prev?: number;
}

/** All of the first five are 0 where nothing is wrong. */
export interface Verdict {
  /** Shown by the server or in its log, and not had; a delta of a closed item does not count, since it leaves the log. */
  lost: number;
  doubled: number;
  disorder: number;
  /** Had with another text than the server has shown. */
  changed: number;
  /** Links that lead to another event than the one before. */
  broken: number;
  /** The number of events that were read, and the number that could be read. */
  had: number;
  expected: number;
  /** Deltas of closed items that are missing. */
  compacted: number;
}

/** Compares what a mirror or reader had of one log, in its order, with what the server has shown, by seq. */
export function judge(shown: ReadonlyMap<number, string>, had: readonly Had[]): Verdict {
  const events = had.filter(({ kind }) => !isMark(kind));
  const seen = new Set<number>();
  const closed = new Set<string>();
  const verdict = { lost: 0, doubled: 0, disorder: 0, changed: 0, broken: 0, compacted: 0 };
  let last = 0;
  let newest: number | null = null;
  for (const { seq, kind, text, prev } of events) {
    if (seen.has(seq)) verdict.doubled++;
    else if (seq < last) verdict.disorder++;
    if (prev !== undefined && newest !== null && prev !== newest) verdict.broken++;
    if (stays(kind)) newest = seq;
    seen.add(seq);
    last = Math.max(last, seq);
    if ((shown.get(seq) ?? text) !== text) verdict.changed++;
    const event = JSON.parse(text) as RuntimeEventRecord;
    if (isDescribed(event) && settles(event)) closed.add(settlesWith(event));
  }
  for (const [seq, text] of shown) {
    if (seen.has(seq)) continue;
    const event = JSON.parse(text) as RuntimeEventRecord;
    if (isDelta(event) && closed.has(settlesWith(event))) verdict.compacted++;
    else verdict.lost++;
  }
  return { ...verdict, had: events.length, expected: shown.size };
}

/** The expected verdict. */
export const faultless = { lost: 0, doubled: 0, disorder: 0, changed: 0, broken: 0 };
