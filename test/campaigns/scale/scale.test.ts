import { expect, test } from 'vitest';
import { scaled } from '../../support/patience.ts';
import { hasPty } from '../../support/tui/pty.ts';
import { curvesOf, tableOf } from './curves.ts';
import type { Figure, Figures } from './meter.ts';
import { sizeOf } from './place.ts';
import { scale } from './scale.ts';

test.skipIf(!hasPty)(
  'A data directory with some of everything is measured: starts, lists, search, the screen, turns and memory.',
  { timeout: scaled(120_000) },
  async () => {
    const [figures = {}] = await scale({ sizes: [sizeOf(0.005)], rounds: 1, requests: 1 });
    const names = Object.keys(figures);
    for (const some of ['start', 'start after a kill', 'last page: sessions', 'diagnostics'])
      expect(names).toContain(some);
    for (const some of ['search: a title', 'screen: first rows', 'memory with all alive'])
      expect(names).toContain(some);
    // The processor time of one quick request can be 0.
    const isMeasured = ({ value, passedMs }: Figure) => value > 0 || (passedMs ?? 0) > 0;
    expect(Object.entries(figures).filter(([, figure]) => !isMeasured(figure))).toEqual([]);
  },
);

test('A figure that must be flat may double, and a figure that may be linear may grow as the size.', () => {
  const figure = (value: number) => ({ value, passedMs: null });
  const figures = (flat: number, linear: number) => ({
    'search: a title': figure(flat),
    start: figure(linear),
  });
  const verdicts = (last: Figures) =>
    curvesOf([figures(100, 100), last], 10).map(({ isAsAllowed }) => isAsAllowed);
  expect(verdicts(figures(200, 1000))).toEqual([true, true]);
  expect(verdicts(figures(210, 1000))).toEqual([false, true]);
  expect(verdicts(figures(100, 1010))).toEqual([true, false]);
});

test('The table of curves marks the figures that are not as allowed.', () => {
  const of = (value: number) => ({ 'search: a title': { value, passedMs: 2 * value } });
  const curves = curvesOf([of(10), of(100)], 10);
  expect(tableOf(curves, ['1', '10']).split('\n')[2]).toBe(
    '| search: a title | 10.0 (20.0) | 100 (200) | 10.00 | flat: **not met** |',
  );
});
