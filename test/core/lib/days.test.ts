import { expect, it } from 'vitest';
import { dayOf, endOfDay, startOfDay } from '../../../src/core/lib/days.ts';

const HOUR = 3_600_000;

it.for<[zone: string, moment: string, day: string, begins: string, hours: number]>([
  ['UTC', '2026-11-22T12:00Z', '2026-11-22', '2026-11-22T00:00Z', 24],
  ['America/New_York', '2026-11-22T03:00Z', '2026-11-21', '2026-11-21T05:00Z', 24],
  ['Pacific/Kiritimati', '2026-11-22T12:00Z', '2026-11-23', '2026-11-22T10:00Z', 24],
  ['Europe/Berlin', '2026-03-29T12:00Z', '2026-03-29', '2026-03-28T23:00Z', 23],
  ['Europe/Berlin', '2026-10-25T12:00Z', '2026-10-25', '2026-10-24T22:00Z', 25],
  // The clocks go forward at midnight: the day begins at one.
  ['America/Santiago', '2026-09-06T12:00Z', '2026-09-06', '2026-09-06T04:00Z', 23],
  // The clocks go back at midnight, so that the last hour of the day comes twice.
  ['America/Santiago', '2026-04-04T12:00Z', '2026-04-04', '2026-04-04T03:00Z', 25],
])(
  'The day in %s at %s is %s, starts at %s and has %i hours.',
  ([zone, moment, day, begins, hours]) => {
    const at = Date.parse(moment);
    const start = Date.parse(begins);
    expect(dayOf(at, zone)).toBe(day);
    expect(startOfDay(at, zone)).toBe(start);
    expect(endOfDay(at, zone)).toBe(start + hours * HOUR);
    expect(startOfDay(start, zone)).toBe(start);
    expect(endOfDay(start, zone)).toBe(start + hours * HOUR);
    expect(startOfDay(start + hours * HOUR - 1, zone)).toBe(start);
  },
);
