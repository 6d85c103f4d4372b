import { isDelta, type RuntimeEventRecord, settles, settlesWith } from '../../src/api/events.ts';

/**
 * The events without the deltas of items that are closed among them, because the closing event contains their text. Two
 * readings of a scope are equal if they are equal after this.
 */
export function settle(events: readonly RuntimeEventRecord[]): RuntimeEventRecord[] {
  const closed = new Set(events.filter(settles).map(settlesWith));
  return events.filter((event) => !(isDelta(event) && closed.has(settlesWith(event))));
}
