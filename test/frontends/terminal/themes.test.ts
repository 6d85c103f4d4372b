import { expect, test } from 'vitest';
import { colorRoles, defaultScreen } from '../../../src/core/lib/screen-settings.ts';
import { configureColors, paletteFor } from '../../../src/frontends/terminal/palette.ts';
import { formatsOf, nearest256 } from '../../../src/frontends/terminal/palette.ts';

const terminal = { isTTY: true };
const light = { ...defaultScreen, theme: 'light' } as const;

/** The contrast of a colour to white, as the guidelines for readable pages compute it. */
function contrastToWhite(rgb: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
}

function rgbOf256(index: number): number[] {
  const step = [0, 95, 135, 175, 215, 255];
  if (index >= 232) return Array.from({ length: 3 }, () => 8 + (index - 232) * 10);
  const at = index - 16;
  return [Math.floor(at / 36), Math.floor(at / 6) % 6, at % 6].map((one) => step[one] ?? 0);
}

test('Every colour of the light theme is readable on white, with millions of colours and with 256.', () => {
  const formats = formatsOf(light, {});
  for (const behavior of colorRoles) {
    const { color, also } = formats[behavior];
    expect(also).not.toBe('dim');
    if (color === undefined) continue;
    const rgb = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
    expect(contrastToWhite(rgb)).toBeGreaterThanOrEqual(4.5);
    expect(contrastToWhite(rgbOf256(nearest256(color)))).toBeGreaterThanOrEqual(4.5);
  }
});

test('The theme auto is light where the terminal reports a light background, and dark elsewhere.', () => {
  const good = (env: Record<string, string>) => formatsOf(defaultScreen, env).good.color;
  expect(good({})).toBe('green');
  expect(good({ COLORFGBG: '15;0' })).toBe('green');
  expect(good({ COLORFGBG: '0;15' })).toBe('#116329');
  expect(good({ COLORFGBG: '0;default;7' })).toBe('#116329');
});

test('A colour of the user is written in as many colours as the terminal has.', () => {
  const shown = (env: Record<string, string>, color: string) => {
    configureColors(env, { ...defaultScreen, colors: { good: color } });
    return paletteFor(terminal, env).good('fine');
  };
  expect(shown({ COLORTERM: 'truecolor' }, '#ff8700')).toBe('\u001b[38;2;255;135;0mfine\u001b[39m');
  expect(shown({ TERM: 'xterm-256color' }, '#ff8700')).toBe('\u001b[38;5;208mfine\u001b[39m');
  expect(shown({ TERM: 'linux' }, '#ff8700')).toBe('\u001b[93mfine\u001b[39m');
  expect(shown({}, 'magentaBright')).toBe('\u001b[95mfine\u001b[39m');
});

test('A colour of the user takes the place of dim, and stands beside bold.', () => {
  const env = {};
  configureColors(env, { ...defaultScreen, colors: { faint: 'blue', strong: 'red' } });
  const { faint, strong, bad } = paletteFor(terminal, env);
  expect(faint('x')).toBe('\u001b[34mx\u001b[39m');
  expect(strong('x')).toBe('\u001b[1m\u001b[31mx\u001b[39m\u001b[22m');
  expect(bad('x')).toBe('\u001b[31mx\u001b[39m');
});

test('A colour continues after a style within it, and each line has its own.', () => {
  const env = { COLORTERM: 'truecolor' };
  configureColors(env, light);
  const { good, bad } = paletteFor(terminal, env);
  const [green, red, end] = ['\u001b[38;2;17;99;41m', '\u001b[38;2;164;14;38m', '\u001b[39m'];
  expect(good(`a${bad('b')}c\nd`)).toBe(`${green}a${red}b${end}${green}c${end}\n${green}d${end}`);
});

test('The screen and text have the same colours where there are 256.', () => {
  const env = { TERM: 'xterm-256color' };
  configureColors(env, light);
  const { colors, accent } = paletteFor(terminal, env);
  expect(colors.accent).toBe('ansi256(24)');
  expect(accent('x')).toBe('\u001b[38;5;24mx\u001b[39m');
});

test('NO_COLOR wins over every theme, and the theme none turns colours off.', () => {
  const env = { NO_COLOR: '1' };
  configureColors(env, light);
  expect(paletteFor(terminal, env)).toMatchObject({ on: false, colors: {} });
  const none = {};
  configureColors(none, { ...defaultScreen, theme: 'none' });
  expect(paletteFor(terminal, none).bad('x')).toBe('x');
});
