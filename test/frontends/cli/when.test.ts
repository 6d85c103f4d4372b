import { expect, it } from 'vitest';
import { dateText, momentOf } from '../../../src/frontends/cli/when.ts';

const now = Date.UTC(2026, 10, 22, 18, 30);

it.each([
  ['18:00', 'UTC', '2026-11-23 18:00'],
  ['18:00', 'Asia/Kathmandu', '2026-11-23 18:00'],
  ['23:59', 'UTC', '2026-11-22 23:59'],
  ['+0h', 'UTC', '2026-11-22 18:30'],
  ['+1h30m', 'UTC', '2026-11-22 20:00'],
  ['2020-01-01T00:00', 'UTC', '2020-01-01 00:00'],
  ['2028-02-29T08:00', 'UTC', '2028-02-29 08:00'],
  ['2026-11-30 08:00', 'Europe/Berlin', '2026-11-30 08:00'],
  ['2026-11-30T24:00Z', 'UTC', '2026-12-01 00:00'],
  ['2026-11-30T08:00+05:45', 'UTC', '2026-11-30 02:15'],
  // This time is in the gap of the clock change, so it is read with the offset before the gap.
  ['2027-03-28T02:30', 'Europe/Berlin', '2027-03-28 03:30'],
])('The time "%s" in %s is %s.', (text, zone, expected) => {
  expect(dateText(momentOf(text, now, zone), zone)).toBe(expected);
});

it.each([
  '24:00',
  '9:5',
  'tomorrow',
  '',
  '2h',
  '2026-11-30',
  '2026-13-01T00:00',
  '2026-02-29T08:00',
  '2026-02-30T08:00Z',
  '2026-04-31T08:00+02:00',
  '2026-11-30T08:00+25:00',
  '+999999999w',
])('The time "%s" is refused, and never read as another time.', (text) => {
  expect(() => momentOf(text, now, 'UTC')).toThrow(
    `invalid time "${text}": expected a time such as`,
  );
});
