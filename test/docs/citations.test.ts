import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const root = path.join(import.meta.dirname, '../..');
const read = (name: string) => readFileSync(path.join(root, name), 'utf8');

/** The numbers of the rules of the interface, such as 9.3, in the order of its two pages. */
function rules(): string[] {
  const numbers: string[] = [];
  let section = '';
  const pages = ['docs/interface.md', 'docs/interface-teams.md'].map(read);
  for (const line of pages.join('\n').split('\n')) {
    section = /^## (\d+) /.exec(line)?.[1] ?? section;
    const rule = /^(\d+)\. /.exec(line)?.[1];
    if (rule !== undefined) numbers.push(`${section}.${rule}`);
  }
  return numbers;
}

test('The rules of each section of the interface are numbered from 1 without gaps.', () => {
  const bySection = Object.groupBy(rules(), (rule) => rule.replace(/\..*/, ''));
  for (const [section, numbers = []] of Object.entries(bySection))
    expect(numbers).toEqual(numbers.map((_, at) => `${section}.${at + 1}`));
});

test('A comment that cites a rule of the interface cites one that exists.', () => {
  const known = rules();
  const files = globSync('{src,test,bench,scripts}/**/*.{ts,tsx,mjs}', { cwd: root });
  const cited = files.flatMap((name) =>
    [...read(name).matchAll(/\binterface (\d+\.\d+)\b/gi)].map(
      ([, rule = '']) => `${name} ${rule}`,
    ),
  );
  expect(cited.length).toBeGreaterThan(5);
  expect(cited.filter((one) => !known.includes(one.split(' ')[1] ?? ''))).toEqual([]);
});
