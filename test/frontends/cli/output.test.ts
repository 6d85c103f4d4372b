import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { whole } from '../../../src/frontends/cli/layout.ts';
import { ago, details, shortId, table } from '../../../src/frontends/cli/output.ts';
import { jsonFor } from '../../../src/frontends/cli/command-io.ts';
import { paletteFor } from '../../../src/frontends/terminal/palette.ts';
import { loadWidths } from '../../../src/frontends/cli/widths.ts';
import { widthOf } from '../../../src/frontends/terminal/width.ts';
import { anyText } from '../../support/any-text.ts';

const at = (isTTY: boolean) => ({ stdout: { isTTY } }) as unknown as Parameters<typeof jsonFor>[0];

test('The JSON has no character that the terminal would obey or hide, and has the same value.', () => {
  fc.assert(
    fc.property(fc.dictionary(anyText(), fc.array(anyText())), (value) => {
      const text = jsonFor(at(true), value, 2);
      expect(JSON.parse(text)).toEqual(value);
      expect(text.replaceAll('\n', '')).not.toMatch(
        /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u,
      );
    }),
  );
  const evil = '\u009b31m \u202e \u200b \u2028 \u{e0041} \u007f';
  expect(jsonFor(at(true), evil)).toBe(
    String.raw`"\u009b31m \u202e \u200b \u2028 \udb40\udc41 \u007f"`,
  );
});

test('The JSON is not escaped further without a terminal.', () => {
  expect(jsonFor(at(false), '\u202e')).toBe('"\u202e"');
});

test('The columns of a table are two spaces apart, and a line has no trailing spaces.', () => {
  expect(
    table(
      ['ID', 'STATUS', 'TITLE'],
      [
        ['a', 'ready', ''],
        ['long-id', 'x', 'last one'],
      ],
    ),
  ).toBe('ID       STATUS  TITLE\na        ready\nlong-id  x       last one\n');
});

test('A cell of a table stays on one line, without control sequences.', () => {
  expect(table(['A', 'B'], [['one\ntwo', '\u001b[31mred']])).toBe('A        B\none two  red\n');
});

test('A table is never wider than the terminal: wide columns are cut, but never ids.', () => {
  const rows = [['89abcdef', 'waiting_for_approval', 'x'.repeat(50), '/home/you/project']];
  const wide = table(['ID', 'STATUS', 'TITLE', 'CWD'], rows);
  expect(wide).toContain('x'.repeat(50));
  const narrow = table(['ID', 'STATUS', 'TITLE', 'CWD'], rows, { ...whole, columns: 60 });
  expect(narrow.split('\n')[1]).toBe(
    '89abcdef  waiting_for_ap…  xxxxxxxxxxxxxx…  /home/you/proje…',
  );
  const least = table(['ID', 'STATUS', 'TITLE', 'CWD'], rows, { ...whole, columns: 30 });
  expect(least.split('\n')[1]).toBe('89abcdef  waiting_…  xxxxxxxx…');
});

test('A table with a wrapped last column cuts no word of it.', () => {
  const rows = [
    ['gemini', 'no one is logged in: run cadre'],
    ['b', 'ok'],
  ];
  expect(table(['AGENT', 'NEXT'], rows, { ...whole, columns: 24 }, { wraps: true })).toBe(
    'AGENT   NEXT\ngemini  no one is logged\n        in: run cadre\nb       ok\n',
  );
});

test('A table counts the columns of wide characters, for any text and width.', async () => {
  await loadWidths();
  const cell = fc.string({ unit: fc.constantFrom('a', '漢', 'é', '👍🏽', ' '), maxLength: 30 });
  const rows = fc.array(fc.tuple(fc.constant('89abcdef'), cell, cell, cell), { maxLength: 5 });
  fc.assert(
    fc.property(rows, fc.integer({ min: 8, max: 120 }), (given, columns) => {
      const text = table(['ID', 'ONE', 'TWO', 'THREE'], given, { ...whole, columns });
      for (const line of text.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(columns);
      expect(text.match(/89abcdef/g) ?? []).toHaveLength(given.length);
    }),
  );
});

test('A table colours states if the palette is on, and a cut state keeps its colour.', () => {
  const palette = paletteFor({ isTTY: true }, {});
  const layout = { ...whole, columns: 12, palette };
  const [, line] = table(['ID', 'STATUS'], [['a', 'waiting_for_approval']], layout).split('\n');
  expect(line).toBe(`a   ${palette.warn('waiting…')}`);
});

test('A table without rows is its heading.', () => {
  expect(table(['A', 'B'], [])).toBe('A  B\n');
});

test('Details are aligned lines with a dash for null, without control sequences.', () => {
  expect(details({ id: 'x', title: null, n: 2, none: [], said: '\u001b[31mred' })).toBe(
    'id     x\ntitle  -\nn      2\nnone   -\nsaid   red\n',
  );
});

test('Details show nested values in lines below their name, not as JSON.', () => {
  const record = {
    id: 'x',
    usage: { used: 1, of: { a: 2 } },
    tags: ['a', 'b'],
    claims: [{ by: 'y', n: 1 }, { by: 'z' }],
  };
  expect(details(record)).toBe(
    'id      x\nusage\n  used  1\n  of\n    a  2\ntags    a, b\nclaims\n- by  y\n  n   1\n- by  z\n',
  );
});

const raw = {
  created_at: 1_795_300_868_756,
  uptime_ms: 1_380_000,
  database_bytes: 3_565_158,
  exit_code: 3,
};

test('Details show dates, durations and sizes in readable form.', () => {
  expect(details(raw)).toBe(
    'created_at  2026-11-21T22:41:08Z\nuptime      23m\ndatabase    3.4 MiB\nexit_code   3\n',
  );
});

test('Details on a terminal show the age of a time, and no colours if the palette is off.', () => {
  const layout = { ...whole, isTerminal: true, columns: 80 };
  const at = { now: raw.created_at + 300_000, layout };
  expect(details({ created_at: raw.created_at }, at)).toBe(
    'created_at  2026-11-21T22:41:08Z (5m ago)\n',
  );
  expect(details({ expires_at: raw.created_at + 600_000 }, at)).toBe(
    'expires_at  2026-11-21T22:51:08Z (in 5m)\n',
  );
});

test('Details indent the later lines of a text.', () => {
  expect(details({ id: 'x', text: 'a\nb' })).toBe('id    x\ntext  a\n      b\n');
});

test('A short id is its last 8 characters.', () => {
  expect(shortId('sess_0123456789abcdef')).toBe('89abcdef');
});

test.for([
  [0, '0s'],
  [59_000, '59s'],
  [60_000, '1m'],
  [3_599_000, '59m'],
  [3_600_000, '1h'],
  [86_399_000, '23h'],
  [86_400_000, '1d'],
  [-5000, '0s'],
] as const)('The age of %i ms is %s.', ([ms, text]) => {
  expect(ago(1_000_000_000, 1_000_000_000 + ms)).toBe(text);
});
