import { createHash } from 'node:crypto';
import { deltaKinds, settlingKinds } from '../../../src/api/events.ts';
import { settle } from '../../support/settle.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';

/** Faults, each with the details that help to find its cause. Empty if nothing is wrong. */
export type Violations = string[];

/** More of the same says nothing new. */
const SHOWN = 5;

/** Whether the seqs of a reading strictly rise: anything else is a repetition or another order. */
export function checkOrder(name: string, reading: readonly UntypedEvent[]): Violations {
  const wrong: Violations = [];
  for (const [i, event] of reading.entries()) {
    const before = reading[i - 1];
    if (before && event.seq <= before.seq) {
      wrong.push(`${name}: ${describe(event)} came after ${describe(before)}`);
    }
  }
  return few(wrong);
}

/** Whether a reading is the same as the log, settled: nothing missing, nothing more, nothing different. */
export function checkEqual(
  name: string,
  reading: readonly UntypedEvent[],
  log: readonly UntypedEvent[],
): Violations {
  const wrong: Violations = [];
  const read = new Map(settle(reading).map((event) => [event.seq, event]));
  const stored = new Map(settle(log).map((event) => [event.seq, event]));
  for (const event of stored.values()) {
    const found = read.get(event.seq);
    if (!found) wrong.push(`${name}: was never shown ${describe(event)}`);
    else if (fingerprint(found) !== fingerprint(event)) {
      wrong.push(`${name}: was shown ${describe(found)}, the log has ${describe(event)}`);
    }
  }
  for (const event of read.values()) {
    if (!stored.has(event.seq))
      wrong.push(`${name}: was shown ${describe(event)}, the log has not`);
  }
  return few(wrong);
}

/** Everything that any reader was ever shown, over all runs of the server. */
export class Seen {
  readonly #bySeq = new Map<number, { what: string; print: string; deltaOf: unknown }>();
  readonly #seqOf = new Map<string, number>();

  get size(): number {
    return this.#bySeq.size;
  }

  /** Notes an event; reports a violation if its seq was shown with another event, or the event with another seq. */
  note(name: string, event: UntypedEvent): Violations {
    const print = fingerprint(event);
    const known = this.#bySeq.get(event.seq);
    if (known && known.print !== print) {
      return [
        `${name}: was shown ${describe(event)}, but that seq was given before, to ${known.what}`,
      ];
    }
    const other = this.#seqOf.get(event.id);
    if (other !== undefined && other !== event.seq) {
      return [`${name}: was shown ${describe(event)}, which was shown as seq ${other} before`];
    }
    const deltaOf = deltaKinds.has(event.kind) ? event.payload.item_id : null;
    if (!known) this.#bySeq.set(event.seq, { what: describe(event), print, deltaOf });
    this.#seqOf.set(event.id, event.seq);
    return [];
  }

  /**
   * Reports what was shown and is not in the whole log, as far as that had come; deltas of closed items may
   * leave it.
   */
  missingFrom(log: readonly UntypedEvent[]): Violations {
    const stored = new Map(log.map((event) => [event.seq, event]));
    const closed = new Set(log.filter(({ kind }) => settlingKinds.has(kind)).map(itemOf));
    const upTo = log.at(-1)?.seq ?? 0;
    const wrong: Violations = [];
    for (const [seq, { what, print, deltaOf }] of this.#bySeq) {
      if (seq > upTo) continue;
      const event = stored.get(seq);
      if (event && fingerprint(event) !== print) {
        wrong.push(`${what} was shown, and now the log has ${describe(event)} there`);
      }
      if (!event && !(deltaOf !== null && closed.has(deltaOf))) {
        wrong.push(`${what} was shown and is gone`);
      }
    }
    return few(wrong);
  }
}

/** An event in a few words. */
export function describe({ seq, kind, id, session_id, turn_id }: UntypedEvent): string {
  return `seq ${seq} ${kind} (${[id, turn_id ?? session_id].filter(Boolean).join(', ')})`;
}

function itemOf({ payload }: UntypedEvent): unknown {
  return payload.item_id;
}

function fingerprint(event: UntypedEvent): string {
  return createHash('sha1').update(JSON.stringify(event)).digest('base64');
}

function few(wrong: Violations): Violations {
  if (wrong.length <= SHOWN) return wrong;
  return [...wrong.slice(0, SHOWN), `... and ${wrong.length - SHOWN} more like these`];
}
