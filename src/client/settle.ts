import { deltaKinds, type RuntimeEventRecord, settlesWith, settlingKinds } from '../api/events.ts';

/**
 * The events without the deltas of items that are closed among them, because the closing event contains their text. Two
 * readings of a scope are equal if they are equal after this.
 */
export function settle(events: readonly RuntimeEventRecord[]): RuntimeEventRecord[] {
  const closed = new Set(events.filter(({ kind }) => settlingKinds.has(kind)).map(settlesWith));
  return events.filter((event) => !(deltaKinds.has(event.kind) && closed.has(settlesWith(event))));
}
