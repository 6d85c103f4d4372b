import type { Random } from '../crash/random.ts';
import type { Verdict } from '../../support/fleet/judge.ts';

/** Does something to a fleet, `times` times, and tells what the stream and readers had afterwards. */
export type Scenario = (given: {
  times: number;
  /** How long there is no engine, in seconds, where that is what happens. */
  outageSeconds: number;
  random: Random;
}) => Promise<{ verdicts: Record<string, Verdict> } & Record<string, unknown>>;
