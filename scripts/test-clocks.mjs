// Tests compare order and counts, not time: a busy machine is slow. The lint rule cadre/no-clock-in-expect reads this list.

/** Why a test may not compare a time. */
export const because =
  'the time depends on the load of the machine: compare an order or a count, or wait for an event';

/** The folders and files that may compare a time, and why. A file without such a comparison is removed from the list. */
export const exceptions = {
  'test/core/lib/ids.test.ts': 'ids contain the time of the clock of the machine',
  'test/frontends/tui/top.test.tsx':
    'a snooze ends hours after the time of the clock of the machine',
  'test/campaigns':
    'campaigns run alone, and some measure how long the server keeps people waiting',
};
