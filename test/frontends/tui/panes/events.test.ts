import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../../src/api/events.ts';
import { colorless } from '../../../../src/frontends/terminal/palette.ts';
import {
  contains,
  eventLine,
  type EventRow,
  withEvents,
} from '../../../../src/frontends/tui/panes/event-row.ts';
import { Reader } from '../../../../src/frontends/tui/panes/reader.ts';
import { closing, delta, event } from '../../../support/tui/events.ts';

const textsOf = (rows: readonly EventRow[]) => rows.map(({ text }) => text);

test('A message is one row, which grows with the message and has the whole text at its end.', () => {
  const said = [delta(1, 'a', 0, 'one '), delta(2, 'a', 4, 'two')];
  const growing = withEvents([], said);
  expect(textsOf(growing)).toEqual(['one two']);
  expect(growing[0]).toMatchObject({ kind: 'message.delta', first: 1, last: 2, at: 1001 });
  const whole = withEvents(growing, [closing(3, 'a', 'one two three')]);
  expect(whole).toHaveLength(1);
  expect(whole[0]).toMatchObject({ text: 'one two three', first: 1, last: 3, pieces: [] });
});

test('A tool call is one row, and each stream of a process is one row.', () => {
  const tool = { title: 'read it' };
  const of = { session_id: null, process_id: 'proc_1' };
  const rows = withEvents(
    [],
    [
      event(1, 'tool.started', { item_id: 't', tool, status: 'pending' }),
      event(2, 'process.output', { stream: 'stdout', offset: 0, bytes: 2, text: 'hi' }, of),
      event(3, 'process.output', { stream: 'stderr', offset: 0, bytes: 3, text: 'bad' }, of),
      event(4, 'tool.updated', { item_id: 't', tool, status: 'running', text: '' }),
      event(5, 'process.output', { stream: 'stdout', offset: 2, bytes: 2, text: ' u' }, of),
      event(6, 'tool.completed', { item_id: 't', tool, status: 'completed', text: 'done' }),
    ],
  );
  expect(textsOf(rows)).toEqual(['read it: done', 'hi u', 'bad']);
});

test('An event extends a row that exists, and adds none if new rows are not wanted.', () => {
  const known = withEvents([], [delta(1, 'a', 0, 'one')]);
  const rows = withEvents(known, [event(2, 'turn.started'), closing(3, 'a', 'one two')], true);
  expect(textsOf(rows)).toEqual(['one two']);
});

test('A row contains neither control sequences nor line breaks of an agent.', () => {
  const text = 'a\u001b[31mred\u001b[0m\u001b]52;c;eA==\u0007\r\n\tb\u009b2J';
  const rows = withEvents([], [closing(1, 'a', text), delta(2, 'b', 0, text)]);
  for (const line of textsOf(rows)) expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
});

test('A row keeps 4,000 characters: the start of a complete text, the end of a growing one.', () => {
  const pieces = Array.from({ length: 50 }, (_, i) =>
    delta(i + 1, 'a', i * 1000, 'x'.repeat(999) + (i % 10)),
  );
  const [row] = withEvents([], pieces);
  expect(row?.text.length).toBeLessThan(6000);
  expect(row?.text.endsWith('x9')).toBe(true);
  expect(withEvents([], [closing(1, 'a', 'y'.repeat(99_999))])[0]?.text.length).toBe(4000);
});

test('The rows do not depend on the order and the number of the pages.', () => {
  fc.assert(
    fc.property(reading, pagesOf, (events, cuts) => {
      const pages = cuts.map(([from, to]) => events.slice(Math.min(from, to), Math.max(from, to)));
      const whole = withEvents([], events);
      const inPages = [...pages, events.slice(15), events.slice(0, 20), ...pages].reduce(
        (known, page) => withEvents(known, page),
        withEvents([], []),
      );
      expect(inPages).toEqual(whole);
    }),
  );
});

test('The rows do not depend on where a stream is resumed, also if events come twice.', () => {
  fc.assert(
    fc.property(reading, fc.nat(30), fc.nat(30), (events, stop, back) => {
      const first = withEvents([], events.slice(0, stop));
      const again = withEvents(first, events.slice(Math.max(0, stop - back)));
      expect(again).toEqual(withEvents([], events));
    }),
  );
});

/** A log with streaming and completed messages, among other events. */
const reading = fc
  .array(fc.tuple(fc.constantFrom('delta', 'closing', 'other'), fc.constantFrom('a', 'b', 'c')), {
    maxLength: 30,
  })
  .map((list) => {
    const closed = new Set<string>();
    return list.map(([what, item], i): RuntimeEventRecord => {
      const isOver = closed.has(item);
      if (what === 'closing') closed.add(item);
      if (what === 'other' || isOver) return event(i + 1, 'turn.started');
      return what === 'delta'
        ? delta(i + 1, item, i, `${i} `)
        : closing(i + 1, item, `all of ${item}`);
    });
  });
const pagesOf = fc.array(fc.tuple(fc.nat(30), fc.nat(30)), { maxLength: 6 });

/** A reader of rows from `from` to `to`, of which `height` are visible. */
function readerOf(height: number, from: number, to: number) {
  let rows = rowsOf(from, to);
  const reader = new Reader({
    count: () => rows.length,
    linesOf: (at) => [String(rows[at]?.first)],
    textOf: (at) => rows[at]?.text ?? '',
    lineWithCursor: (at) => `>${rows[at]?.first}`,
    contains: (at, search) => rows.slice(at, at + 1).some((row) => contains(row, search)),
  });
  const lines = () => reader.lines({ rows: height, columns: 20, palette: colorless }).join(' ');
  lines();
  return {
    reader,
    lines,
    show(next: readonly EventRow[], before = 0) {
      rows = next;
      reader.changed(before);
    },
  };
}
const rowsOf = (from: number, to: number) =>
  withEvents(
    [],
    Array.from({ length: to - from + 1 }, (_, i) => event(from + i, 'turn.started')),
  );

test.each<[steps: string, act: (reader: Reader) => void, lines: string]>([
  ['shows the end without a cursor at first', () => undefined, '8 9 10'],
  ['moves within the visible lines', (reader) => reader.scroll(-1), '8 >9 10'],
  ['scrolls up when the cursor would leave the lines', (reader) => reader.scroll(-4), '>6 7 8'],
  ['stays at the first line', (reader) => reader.scroll(-99), '>1 2 3'],
  ['pauses at the last line', (reader) => reader.select(reader.cursor), '8 9 >10'],
  ['goes to the start', (reader) => reader.toStart(), '>1 2 3'],
])('It %s.', (_steps, act, expected) => {
  const { reader, lines } = readerOf(3, 1, 10);
  act(reader);
  expect(lines()).toBe(expected);
});

test('It scrolls down only below the last visible line, and follows below the last line.', () => {
  const { reader, lines } = readerOf(3, 1, 10);
  reader.scroll(-5);
  reader.scroll(2);
  expect(lines()).toBe('5 6 >7');
  reader.scroll(1);
  expect(lines()).toBe('6 7 >8');
  reader.scroll(2);
  expect([lines(), reader.follows.get()]).toEqual(['8 9 >10', false]);
  reader.scroll(1);
  expect([lines(), reader.follows.get()]).toEqual(['8 9 10', true]);
});

test('It keeps the cursor and the visible lines when rows arrive above and below.', () => {
  const { reader, lines, show } = readerOf(3, 10, 15);
  reader.select(reader.cursor);
  show(rowsOf(10, 20));
  expect(lines()).toBe('13 14 >15');
  show(rowsOf(5, 20), 5);
  expect(lines()).toBe('13 14 >15');
  reader.toEnd();
  expect(lines()).toBe('18 19 20');
});

test('It has neither a cursor nor lines without rows.', () => {
  const { reader, lines } = readerOf(3, 1, 0);
  reader.scroll(-1);
  reader.find('x');
  expect([lines(), reader.cursor, reader.follows.get()]).toEqual(['', -1, true]);
});

test('It searches texts, kinds and ids upwards from the cursor and around the ends.', () => {
  const { reader, show } = readerOf(9, 1, 4);
  show(
    withEvents(
      [],
      [
        closing(1, 'a', 'the Needle'),
        event(2, 'turn.started'),
        closing(3, 'b', 'needles'),
        event(4, 'turn.completed'),
      ],
    ),
  );
  const place = () => [reader.cursor + 1, reader.matches().index, reader.matches().count];
  reader.find('NEEDLE');
  expect(place()).toEqual([3, 2, 2]);
  for (const [direction, expected] of [
    [-1, 1],
    [-1, 3],
    [1, 1],
    [1, 3],
  ] as const) {
    reader.findNext(direction);
    expect(place()[0]).toBe(expected);
  }
  reader.find('turn.st');
  expect(place()).toEqual([2, 1, 1]);
  reader.find('sess_1');
  expect(place()).toEqual([2, 2, 4]);
  reader.find('nowhere');
  expect(place()).toEqual([2, 0, 0]);
});

test('The line of an event fits any number of columns, and a streaming text shows its end.', () => {
  const [row] = withEvents([], [delta(1, 'a', 0, `first 漢字 ${'middle '.repeat(20)}last`)]);
  for (const columns of [40, 60, 72, 90, 110]) {
    const line = eventLine(row as EventRow, { columns, palette: colorless });
    expect([line.includes('first'), line.trimEnd().endsWith('last')]).toEqual([false, true]);
    expect(line).toHaveLength(columns);
  }
});
