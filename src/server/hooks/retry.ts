/** The pause after the first failure, in ms; each further one is twice as long. */
const FIRST_PAUSE_MS = 1000;
/** The longest pause, in ms. */
const LONGEST_PAUSE_MS = 300_000;
/** How long a hook fails at one event before health, the log and an event tell of it, in ms. */
export const FAILURE_NOTICE_AFTER_MS = 300_000;

/** Returns how long to wait after so many failures at one event, in ms. */
export function pauseAfter(attempts: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** Math.min(attempts - 1, 20), LONGEST_PAUSE_MS);
}
