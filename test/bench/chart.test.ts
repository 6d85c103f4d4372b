import { expect, it } from 'vitest';
import { labelPlaces, lineChart } from '../../bench/report/chart.ts';
import { growthChart, nameAt } from '../../bench/report/growth-chart.ts';
import { spread } from '../../bench/report/statistics.ts';
import { aResult } from './results.ts';

const chart = {
  title: 'Growth & more',
  places: ['1', '10', '100'],
  unit: 'x',
  series: [
    { name: 'start', values: [1, 1.2, 1.5] },
    { name: 'a <turn>', values: [1, 1, 1.02] },
  ],
};

it('A chart has a line per series, with a point for each value and the name at the last value.', () => {
  const svg = lineChart(chart);
  const [first = '', second = ''] = [...svg.matchAll(/<polyline points="([^"]*)"/g)].map(
    ([, points]) => points,
  );
  expect(first.split(' ')).toHaveLength(3);
  expect(second.split(' ')).toHaveLength(3);
  expect(svg).toContain('>start, 1.5x</text>');
});

it('A chart draws larger values higher, with zero at the bottom.', () => {
  const svg = lineChart({ ...chart, series: [{ name: 'one', values: [0, 1, 2] }] });
  const heights = [...svg.matchAll(/<circle cx="[\d.]+" cy="([\d.]+)"/g)].map(([, y]) => Number(y));
  expect(heights).toEqual(heights.toSorted((a, b) => b - a));
  expect(heights[0]).toBe(350);
  expect(heights[2]).toBe(56);
});

it('A chart escapes names that contain XML characters.', () => {
  const svg = lineChart(chart);
  expect(svg).toContain('<title>Growth &amp; more</title>');
  expect(svg).toContain('a &lt;turn&gt;, 1.02x');
  expect(svg.match(/<text/g)?.length).toBe(svg.match(/<\/text>/g)?.length);
});

it('Labels of a chart do not overlap, and keep their order.', () => {
  expect(labelPlaces([100, 102, 101, 300])).toEqual([100, 136, 118, 300]);
  expect(labelPlaces([])).toEqual([]);
});

it('The growth chart shows the factor by which the same work takes longer, and starts with 1.', () => {
  const figure = (what: string, value: number) => ({
    what,
    unit: 'x',
    sides: { cadre: spread([value]) },
    ratios: {},
  });
  const figures = [
    figure(nameAt('start', 1), 150),
    figure(nameAt('start', 10), 1.5),
    figure(nameAt('start', 100), 2.5),
    figure('something else', 7),
  ];
  const svg = growthChart(aResult(figures, { workload: 'growth', form: 'full' }));
  for (const label of ['10,000 events', '100,000 events', '1,000,000 events', 'start, 2.5x'])
    expect(svg).toContain(`>${label}</text>`);
  expect(svg).not.toContain('something else');
  expect(svg).not.toContain('150');
});
