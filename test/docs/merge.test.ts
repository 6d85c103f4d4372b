import { expect, test } from 'vitest';
import { type Ids, isShown } from './masks.ts';
import { mergedOutput } from './merge.ts';

const old = 'sess_01a204e6213a72bda1be9f2b986a6ad9';
const now = 'sess_0fc27a8f7a2c4b4dbb3f1c8b00a1b2c3';

function merged(shown: string[], written: string[], ids: Ids = new Map()): string[] {
  return mergedOutput(shown.join('\n'), written.join('\n'), ids).split('\n');
}

test('A line with changed words keeps the times and ids of the page.', () => {
  const ids: Ids = new Map();
  expect(
    merged(
      [`${old}: it waits for you since 2026-11-22 22:15:44, for 2h`],
      [`${now} waits until you resume it (since 2027-01-01 09:00:00, for 2h)`],
      ids,
    ),
  ).toEqual([`${old} waits until you resume it (since 2026-11-22 22:15:44, for 2h)`]);
  expect(ids.get(old)).toBe(now);
  expect(ids.get('986a6ad9')).toBe('00a1b2c3');
});

test('New lines use the ids of the page for the same records, and keep the ids of other records.', () => {
  const ids: Ids = new Map([[old, now]]);
  const other = 'sess_0fc27a8f7a2c4b4dbb3f1c8b11111111';
  expect(merged([], [`Opened ${now}`, `Closed ${other}`], ids)).toEqual([
    `Opened ${old}`,
    `Closed ${other}`,
  ]);
  expect(merged([`Closed ${old}`], [`closed ${other}`], ids)).toEqual([`closed ${other}`]);
});

test('A new long id ends with the short id that the page has for it.', () => {
  const ids: Ids = new Map([['986a6ad9', '00a1b2c3']]);
  expect(merged([], [now], ids)).toEqual([`${now.slice(0, -8)}986a6ad9`]);
});

test('Lines that differ only in masked values stay the same.', () => {
  const shown = ['listening on 127.0.0.1:7433 (pid 4711)', 'ready in 12ms', 'old words'];
  const written = ['listening on 127.0.0.1:34567 (pid 99)', 'ready in 7ms', 'other words'];
  expect(merged(shown, written)).toEqual([...shown.slice(0, 2), 'other words']);
});

test('An omission of lines is kept, and the lines around it are updated.', () => {
  expect(
    merged(
      ['Usage: cadre', '…', 'the last old line'],
      ['Usage: cadre [command]', 'one', 'two', 'the last new line'],
    ),
  ).toEqual(['Usage: cadre [command]', '…', 'the last new line']);
  expect(merged(['old', '…'], ['new', 'one'])).toEqual(['new', '…']);
  expect(merged(['…', 'old'], ['one', 'new'])).toEqual(['…', 'new']);
});

test('An omission within a line is kept if the words around it are still there.', () => {
  expect(merged(['delivered in … ms, ok'], ['Delivered in 17.25 ms, ok'])).toEqual([
    'Delivered in … ms, ok',
  ]);
  expect(merged(['name  Old words that are cu…'], ['name  New text for these, cu…'])).toEqual([
    'name  New text for these, cu…',
  ]);
  expect(merged(['name  Old words …'], ['name  Other text'])).toEqual(['name  Other text']);
  expect(merged(['…'], ['one', 'two'])).toEqual(['…']);
  expect(merged(['old … words'], ['none of them'])).toEqual(['none of them']);
});

test('Columns stay aligned if a value of the page is shorter or longer.', () => {
  expect(
    merged(
      ['SIZE    NAME', '12 KiB  old', '1 B     b'],
      ['SIZE     NAME', '1.2 MiB  new', '10 B     b'],
    ),
  ).toEqual(['SIZE     NAME', '12 KiB   new', '1 B      b']);
});

test('The output is empty if the command writes nothing, and omits removed lines.', () => {
  expect(mergedOutput('old\nlines', '\n', new Map())).toBe('');
  expect(merged(['one', 'two', 'three'], ['', 'one', 'three  ', ''])).toEqual(['one', 'three']);
});

test('The test of the pages accepts the updated output.', () => {
  const shown = ['a …', '…', `b ${old}`];
  const written = ['A 1 2', `B ${now}`, `C ${now}`];
  const output = merged(shown, written).join('\n');
  expect(isShown(output, written.join('\n'), new Map())).toBe(true);
});
