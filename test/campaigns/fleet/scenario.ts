import type { Random } from '../crash/random.ts';
import type { EventComparison } from '../../support/fleet/compare-events.ts';

/** Repeats an action on a fleet `times` times, and reports the events of the stream and the readers. */
export type Scenario = (given: {
  times: number;
  /** The time for which NATS is down, in seconds, if the scenario stops it. */
  outageSeconds: number;
  random: Random;
}) => Promise<{ comparisons: Record<string, EventComparison> } & Record<string, unknown>>;
