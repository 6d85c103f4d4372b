import type { Random } from '../crash/random.ts';
import type { EventComparison } from '../../support/fleet/compare-events.ts';

/** Repeats an action on a fleet `times` times, and reports the events of the stream and the readers. */
export type Scenario = (given: {
  times: number;
  /** How long there is no engine, in seconds, where that is what happens. */
  outageSeconds: number;
  random: Random;
}) => Promise<{ comparisons: Record<string, EventComparison> } & Record<string, unknown>>;
