import { expect, test } from 'vitest';
import { paletteFor } from '../../../src/frontends/terminal/palette.ts';

const terminal = { isTTY: true };
const pipe = {};

test('Colours are on for a terminal, and off for a pipe, with NO_COLOR and on a dumb terminal.', () => {
  expect(paletteFor(terminal, { TERM: 'xterm' }).bad('no')).toBe('\u001b[31mno\u001b[39m');
  expect(paletteFor(pipe, {}).bad('no')).toBe('no');
  expect(paletteFor(terminal, { NO_COLOR: '1' }).on).toBe(false);
  expect(paletteFor(terminal, { NO_COLOR: '' }).on).toBe(true);
  expect(paletteFor(terminal, { TERM: 'dumb' }).on).toBe(false);
});

test('FORCE_COLOR and CLICOLOR_FORCE turn colours on, also with NO_COLOR.', () => {
  expect(paletteFor(pipe, { FORCE_COLOR: '1' }).on).toBe(true);
  expect(paletteFor(pipe, { CLICOLOR_FORCE: '1', NO_COLOR: '1' }).on).toBe(true);
  expect(paletteFor(pipe, { CLICOLOR_FORCE: '0' }).on).toBe(false);
  expect(paletteFor(terminal, { FORCE_COLOR: '0' }).on).toBe(false);
});

test('Colours end with each line, because lines are shown one by one.', () => {
  expect(paletteFor(terminal, {}).bad('a\n\nb')).toBe(
    '\u001b[31ma\u001b[39m\n\n\u001b[31mb\u001b[39m',
  );
});
