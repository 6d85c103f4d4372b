import { expect, it } from 'vitest';
import { tables, withTables } from '../../bench/report/page.ts';
import { fullest } from '../../bench/report/result.ts';
import { aRatio, aResult, aValue } from './results.ts';

const BEGIN = '<!-- The tables are written by `node bench/page.ts`. -->';
const END = '<!-- End of the tables. -->';

it('The page has a row for each figure, with the measured sides and their ratio to the baseline.', () => {
  const lines = tables([aResult([aRatio([1.5, 2, 3]), aValue([90], 'MB')])]).split('\n');
  expect(lines[0]).toBe('### turn');
  expect(lines.slice(-4)).toEqual([
    '|  |  | cadre | bare | cadre / bare |',
    '| --- | --- | --: | --: | --: |',
    '| first word | ms | 20.0 (15.0-30.0) | 10.0 (10.0-10.0) | 2.00 |',
    '| idle | MB | 90.0 (90.0-90.0) |  |  |',
  ]);
});

it('Tables replace the text between the marks of the page, and the other text stays the same.', () => {
  const page = `# Title\n\n${BEGIN}\n${END}\n\nThe rest.\n`;
  const once = withTables(page, [aResult([aRatio([2])])]);
  expect(once).toContain('| first word |');
  expect(once.startsWith('# Title\n\n')).toBe(true);
  expect(once.endsWith(`${END}\n\nThe rest.\n`)).toBe(true);
  expect(withTables(once, [aResult([aRatio([2])])])).toBe(once);
});

it('The page shows the full form of a workload if there is one, in the order of the workloads.', () => {
  const [first, second] = [aResult([]), aResult([], { workload: 'start' })];
  const full = aResult([], { form: 'full' });
  expect(fullest([first, second, full])).toEqual([full, second]);
  expect(fullest([full, first])).toEqual([full]);
});

it('A page with missing marks, or with marks in the wrong order, is refused.', () => {
  expect(() => withTables('# Title\n', [])).toThrow('the page lacks');
  expect(() => withTables(`${END}${BEGIN}`, [])).toThrow('the page lacks');
});
