import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { tempDirectory } from '../support/temp.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** The lines that the rule refuses in a file of these lines. */
function refused(...lines: string[]): number[] {
  using directory = tempDirectory('lint');
  const config = {
    categories: { correctness: 'off' },
    jsPlugins: [path.join(root, 'scripts/lint/plugin.js')],
    rules: { 'cadre/no-clock-in-expect': 'error' },
  };
  fs.writeFileSync(path.join(directory.path, '.oxlintrc.json'), JSON.stringify(config));
  fs.writeFileSync(path.join(directory.path, 'some.test.ts'), lines.join('\n'));
  const args = ['-c', '.oxlintrc.json', '--format', 'json', 'some.test.ts'];
  const bin = path.join(root, 'node_modules/.bin/oxlint');
  const { stdout, stderr } = spawnSync(bin, args, { cwd: directory.path, encoding: 'utf8' });
  expect(stderr).toBe('');
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: { code: string; labels: { span: { line: number } }[] }[];
  };
  return diagnostics.map(({ labels }) => labels[0]?.span.line ?? 0).toSorted((a, b) => a - b);
}

test('The lint rule refuses each comparison of a time, also of a variable and of a matcher.', () => {
  expect(
    refused(
      'const began = performance.now();',
      'const took = Math.round(performance.now() - began);',
      'let later = 0;',
      'later = Date.now();',
      'expect(took).toBeLessThan(100);',
      'expect(1000).not.toBeGreaterThan(later - began);',
      'expect(process.cpuUsage().user).toBe(1);',
      'await expectSoon(process.hrtime.bigint()).toBe(1n);',
      'setTimeout(() => expect(1).toBe(1), 5);',
    ),
  ).toEqual([5, 6, 7, 8, 9]);
});

test('The lint rule accepts other values, also if another function has a time of the same name.', () => {
  expect(
    refused(
      'function first() { const began = performance.now(); console.log(performance.now() - began); }',
      'function second() { const began = events(); expect(began).toEqual([]); }',
      'const seed = Date.now();',
      'expect(valuesOf(seed), `with ${seed}`).toEqual([1]);',
      'setTimeout(() => done(), 5);',
    ),
  ).toEqual([]);
});
