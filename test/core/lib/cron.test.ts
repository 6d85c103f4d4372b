import { expect, it } from 'vitest';
import { recurrenceOf } from '../../../src/core/lib/cron.ts';
import { seededRandom } from '../../support/random.ts';

const HOUR = 3_600_000;

/** Returns the times of an expression between two moments, in UTC. */
function times(expression: string, zone: string, from: string, until: string): string[] {
  const recurrence = recurrenceOf(expression, zone);
  const found: string[] = [];
  for (let at = recurrence?.after(Date.parse(from) - 1) ?? null; at !== null;) {
    if (at >= Date.parse(until)) return found;
    found.push(new Date(at).toISOString().slice(8, 16));
    at = recurrence?.after(at) ?? null;
  }
  return found;
}

it.each([
  // Berlin: forward from 02:00 to 03:00 on 29 March, and back from 03:00 to 02:00 on 25 October.
  ['30 2 * * *', 'Europe/Berlin', '2026-03-28', '2026-03-31', ['28T01:30', '29T01:00', '30T00:30']],
  ['30 2 * * *', 'Europe/Berlin', '2026-10-24', '2026-10-27', ['24T00:30', '25T00:30', '26T01:30']],
  [
    '0 * * * *',
    'Europe/Berlin',
    '2026-10-24T23:00Z',
    '2026-10-25T03:00Z',
    ['24T23:00', '25T00:00', '25T01:00', '25T02:00'],
  ],
  // Lord Howe: forward by half an hour.
  [
    '15 2 * * *',
    'Australia/Lord_Howe',
    '2026-10-03',
    '2026-10-04T20:00Z',
    ['03T15:30', '04T15:15'],
  ],
  // Santiago: midnight is skipped on 6 September.
  [
    '0 0 * * *',
    'America/Santiago',
    '2026-09-05',
    '2026-09-08',
    ['05T04:00', '06T04:00', '07T03:00'],
  ],
  ['0 8 * * *', 'Asia/Kathmandu', '2026-03-01', '2026-03-03', ['01T02:15', '02T02:15']],
  ['0 0 29 2 *', 'UTC', '2026-01-01', '2029-01-01', ['29T00:00']],
])(
  'The schedule %s in %s comes once a day from %s until %s.',
  (expression, zone, from, until, expected) => {
    expect(times(expression, zone, from, until)).toEqual(expected);
  },
);

it('The times before and after a moment agree, so that no search for a time loops forever.', () => {
  const random = seededRandom(1);
  const zones = [
    'Europe/Berlin',
    'America/Havana',
    'Australia/Lord_Howe',
    'Africa/Casablanca',
    'Pacific/Chatham',
  ];
  const changes = [
    '2026-03-29T01:00Z',
    '2026-10-25T01:00Z',
    '2026-03-08T05:00Z',
    '2026-11-01T05:00Z',
    '2026-04-04T14:30Z',
    '2026-10-03T15:30Z',
    '2026-03-22T02:00Z',
  ];
  for (const zone of zones)
    for (const expression of [
      '0 * * * *',
      '30 2 * * *',
      '*/7 * * * *',
      '0 0 * * *',
      '5,50 1,2 * * *',
    ])
      for (const change of changes) {
        const now = Math.floor(Date.parse(change) + (random() - 0.5) * 6 * HOUR);
        const { after, upTo } = recurrenceOf(expression, zone) ?? expect.unreachable();
        const last = upTo(now) ?? expect.unreachable();
        const next = after(now) ?? expect.unreachable();
        const context = `${expression} in ${zone} at ${now}`;
        expect([context, last <= now, now < next]).toEqual([context, true, true]);
        expect([context, after(last - 1), after(last), upTo(next)]).toEqual([
          context,
          last,
          next,
          next,
        ]);
      }
});
