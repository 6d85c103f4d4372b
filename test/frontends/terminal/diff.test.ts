import { expect, test } from 'vitest';
import { isDiff } from '../../../src/core/lib/diff-lines.ts';
import { diffLines } from '../../../src/frontends/terminal/diff.ts';
import { colors } from './texts.ts';

const diff = `diff --git a/x.sql b/x.sql
--- a/x.sql
+++ b/x.sql
@@ -1,3 +1,3 @@
 select 1;
--- an old comment
+++ a new one
 done
\\ No newline at end of file
`;

test('A diff has colours by the kind of its lines, also if a removed line looks like a heading.', () => {
  const { strong, accent, added, removed, faint } = colors;
  expect(diffLines(diff, { columns: 80, palette: colors })).toEqual([
    strong('diff --git a/x.sql b/x.sql'),
    strong('--- a/x.sql'),
    strong('+++ b/x.sql'),
    accent('@@ -1,3 +1,3 @@'),
    ' select 1;',
    removed('--- an old comment'),
    added('+++ a new one'),
    ' done',
    faint('\\ No newline at end of file'),
  ]);
});

test('Each part of a wrapped line of a diff has its colour.', () => {
  const { added } = colors;
  expect(diffLines('@@ -0,0 +1 @@\n+abcdefgh', { columns: 15, palette: colors })).toHaveLength(2);
  expect(diffLines('+abcdefgh', { columns: 5, palette: colors })).toEqual([
    added('+abcd'),
    added('efgh'),
  ]);
});

test('A diff is recognized by its headings.', () => {
  expect(isDiff(diff)).toBe(true);
  expect(isDiff('- a list\n+ of things')).toBe(false);
});
