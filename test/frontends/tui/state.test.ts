import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import {
  emptyView,
  following,
  foundNext,
  matchCount,
  MAX_ROWS,
  moved,
  paused,
  searching,
  selectedRow,
  type View,
  visible,
  withNewer,
  withOlder,
} from '../../../src/frontends/tui/state.ts';
import { closing, delta, event } from '../../support/tui/events.ts';

const many = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i) => event(from + i, 'turn.started'));
const firsts = (view: View, height: number) => visible(view, height).rows.map(({ first }) => first);
const texts = ({ rows }: View) => rows.map(({ text }) => text);

describe('the rows', () => {
  test('are one a message, that grows while it is said and is whole at its end.', () => {
    const said = [delta(1, 'a', 0, 'one '), delta(2, 'a', 4, 'two')];
    const growing = withNewer(emptyView, said);
    expect(texts(growing)).toEqual(['one two']);
    expect(growing.rows[0]).toMatchObject({ kind: 'message.delta', first: 1, last: 2, at: 1001 });
    const whole = withNewer(growing, [closing(3, 'a', 'one two three')]);
    expect(whole.rows).toHaveLength(1);
    expect(whole.rows[0]).toMatchObject({ text: 'one two three', first: 1, last: 3, pieces: [] });
  });

  test('are one a tool call, and one for each stream of a process.', () => {
    const tool = { title: 'read it' };
    const of = { session_id: null, process_id: 'proc_1' };
    const view = withNewer(emptyView, [
      event(1, 'tool.started', { item_id: 't', tool, status: 'pending' }),
      event(2, 'process.output', { stream: 'stdout', offset: 0, bytes: 2, text: 'hi' }, of),
      event(3, 'process.output', { stream: 'stderr', offset: 0, bytes: 3, text: 'bad' }, of),
      event(4, 'tool.updated', { item_id: 't', tool, status: 'running', text: '' }),
      event(5, 'process.output', { stream: 'stdout', offset: 2, bytes: 2, text: ' u' }, of),
      event(6, 'tool.completed', { item_id: 't', tool, status: 'completed', text: 'done' }),
    ]);
    expect(texts(view)).toEqual(['read it: done', 'hi u', 'bad']);
  });

  test('have no control sequences of agents, and no line ends.', () => {
    const text = 'a\u001b[31mred\u001b[0m\u001b]52;c;eA==\u0007\r\n\tb\u009b2J';
    const view = withNewer(emptyView, [closing(1, 'a', text), delta(2, 'b', 0, text)]);
    for (const line of texts(view)) expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });

  test('keep no more of a text than a few thousand characters, of a growing one the end.', () => {
    const pieces = Array.from({ length: 50 }, (_, i) =>
      delta(i + 1, 'a', i * 1000, 'x'.repeat(999) + (i % 10)),
    );
    const [row] = withNewer(emptyView, pieces).rows;
    expect(row?.text.length).toBeLessThan(6000);
    expect(row?.text.endsWith('x9')).toBe(true);
    expect(withNewer(emptyView, [closing(1, 'a', 'y'.repeat(99_999))]).rows[0]?.text.length).toBe(
      4000,
    );
  });

  test('are the same in whichever order pages come, and however often.', () => {
    fc.assert(
      fc.property(reading, pagesOf, (events, cuts) => {
        const pages = cuts.map(([from, to]) =>
          events.slice(Math.min(from, to), Math.max(from, to)),
        );
        const whole = withNewer(emptyView, events);
        const inPages = [...pages, events.slice(15), events.slice(0, 20), ...pages].reduce(
          (view, page) => withOlder(view, page, false),
          emptyView,
        );
        expect(inPages.rows).toEqual(whole.rows);
      }),
    );
  });

  test('are the same where a reading is taken up again after any event, with some twice.', () => {
    fc.assert(
      fc.property(reading, fc.nat(30), fc.nat(30), (events, stop, back) => {
        const first = withNewer(emptyView, events.slice(0, stop));
        const again = withNewer(first, events.slice(Math.max(0, stop - back)));
        expect(again).toEqual(withNewer(emptyView, events));
      }),
    );
  });
});

/** A log of messages that grow and end, among other things. */
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

describe('the window', () => {
  test('follows the end; paused, nothing moves and what is new is counted.', () => {
    const view = withNewer(emptyView, many(20));
    expect(firsts(view, 3)).toEqual([18, 19, 20]);
    const still = withNewer(paused(view, 3), many(5, 21));
    expect(firsts(still, 3)).toEqual([18, 19, 20]);
    expect(still).toMatchObject({ unseen: 5, follows: false, seq: 25 });
    expect(firsts(following(still), 3)).toEqual([23, 24, 25]);
    expect(following(still).unseen).toBe(0);
  });

  test('scrolls when the cursor would leave it, and follows again below the last row.', () => {
    let view = moved(withNewer(emptyView, many(10)), -1, 3);
    expect([firsts(view, 3), selectedRow(view)?.first]).toEqual([[8, 9, 10], 9]);
    view = moved(view, -3, 3);
    expect([firsts(view, 3), selectedRow(view)?.first]).toEqual([[6, 7, 8], 6]);
    view = moved(view, 1, 3);
    expect([firsts(view, 3), selectedRow(view)?.first]).toEqual([[6, 7, 8], 7]);
    expect(moved(view, -99, 3)).toMatchObject({ selected: '1' });
    expect(moved(moved(view, 3, 3), 1, 3).follows).toBe(true);
  });

  test('keeps the cursor where older rows are read before it.', () => {
    const view = moved(withNewer(emptyView, many(5, 10)), -9, 3);
    const more = withOlder(view, many(5, 5), false);
    expect(firsts(more, 3)).toEqual([10, 11, 12]);
    expect(withOlder(more, [], true).hasStart).toBe(true);
  });

  test('is bounded: it lets the oldest go while it follows, the newest while somebody looks at older ones.', () => {
    const full = withNewer(emptyView, many(MAX_ROWS));
    const followed = withNewer(full, many(10, MAX_ROWS + 1));
    expect([followed.rows.length, followed.rows[0]?.first]).toEqual([MAX_ROWS, 11]);
    const still = withNewer(paused(full, 3), many(10, MAX_ROWS + 1));
    expect([still.rows.length, still.rows[0]?.first, still.isCut]).toEqual([MAX_ROWS, 1, true]);
    expect(withNewer(still, many(5, MAX_ROWS + 11))).toMatchObject({
      unseen: 15,
      rows: still.rows,
    });
    // Below the last row there is more, which has to be read anew: it does not follow by itself.
    expect(moved(still, MAX_ROWS, 3).follows).toBe(false);
  });

  test('shows what becomes of a row that it has, also where what is new is let go.', () => {
    const full = withNewer(emptyView, [...many(MAX_ROWS - 1), delta(MAX_ROWS, 'a', 0, 'one')]);
    const cut = withNewer(paused(full, 3), many(10, MAX_ROWS + 1));
    const whole = withNewer(cut, [closing(MAX_ROWS + 11, 'a', 'one two')]);
    expect([whole.isCut, whole.rows.at(-1)?.text]).toEqual([true, 'one two']);
  });

  test('is of use with nothing in it, and in a terminal of one line.', () => {
    expect(visible(emptyView, 3)).toEqual({ rows: [], cursor: -1 });
    expect(selectedRow(moved(emptyView, -1, 3))).toBeUndefined();
    expect(firsts(moved(withNewer(emptyView, many(3)), -1, 1), 1)).toEqual([2]);
  });
});

describe('the search', () => {
  const view = withNewer(emptyView, [
    closing(1, 'a', 'the Needle'),
    event(2, 'turn.started'),
    closing(3, 'b', 'needles'),
    event(4, 'turn.completed'),
  ]);

  test('goes to the newest that has it, then to the ones before and after, around the ends.', () => {
    const found = searching(view, 'NEEDLE', 9);
    expect([selectedRow(found)?.first, matchCount(found)]).toEqual([3, 2]);
    const before = foundNext(found, -1, 9);
    expect(selectedRow(before)?.first).toBe(1);
    expect(selectedRow(foundNext(before, -1, 9))?.first).toBe(3);
    expect(selectedRow(foundNext(before, 1, 9))?.first).toBe(3);
  });

  test('finds kinds and ids too, stays where nothing has it, and ends with an empty text.', () => {
    expect(selectedRow(searching(view, 'turn.st', 9))?.first).toBe(2);
    expect(matchCount(searching(view, 'sess_1', 9))).toBe(4);
    expect(searching(view, 'nowhere', 9)).toMatchObject({ follows: true, search: 'nowhere' });
    expect(matchCount(searching(view, '', 9))).toBe(0);
  });
});
