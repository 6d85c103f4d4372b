import { type Clock, systemClock } from '../../../src/core/lib/clock.ts';

/** How long an agent whose output has ended may take to go: nothing else of a server waits for just as long. */
const LOST_GRACE_MS = 1000;

/** Time as it is, which tells when the server has noticed that the output of an agent has ended. */
export function noticingClock(): { clock: Clock; noticed: Promise<void> } {
  const { promise: noticed, resolve } = Promise.withResolvers<void>();
  const sleep: Clock['sleep'] = (ms, signal) => {
    if (ms === LOST_GRACE_MS) resolve();
    return systemClock.sleep(ms, signal);
  };
  return { clock: { ...systemClock, sleep }, noticed };
}
