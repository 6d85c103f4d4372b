import { isDelta, type RuntimeEventRecord, settles, settlesWith } from '../api/events.ts';

/**
 * A reading without the deltas whose item is closed in it: the closing event has all they said. Two readings
 * of a scope are equal when they are equal settled.
 */
export function settle(events: readonly RuntimeEventRecord[]): RuntimeEventRecord[] {
  const closed = new Set(events.filter(settles).map(settlesWith));
  return events.filter((event) => !(isDelta(event) && closed.has(settlesWith(event))));
}
