import { type Clock, systemClock } from '../../../src/core/lib/clock.ts';

/** Time within which an agent has to exit after the end of its output. No other wait of a server is as long. */
const LOST_GRACE_MS = 1000;

/** Returns the system clock, and a promise that resolves once the server has noticed the end of an agent's output. */
export function noticingClock(): { clock: Clock; noticed: Promise<void> } {
  const { promise: noticed, resolve } = Promise.withResolvers<void>();
  const sleep: Clock['sleep'] = (ms, signal) => {
    if (ms === LOST_GRACE_MS) resolve();
    return systemClock.sleep(ms, signal);
  };
  return { clock: { ...systemClock, sleep }, noticed };
}
