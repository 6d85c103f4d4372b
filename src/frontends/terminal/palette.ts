import { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import {
  type ColorRole,
  colorRoles,
  defaultScreen,
  type ScreenSettings,
} from '../../core/lib/screen-settings.ts';
import { sum } from '../../core/lib/sum.ts';

export type Style = (text: string) => string;

/** The styles of everything that cadre shows on a terminal. Where colours are off, each returns its text unchanged. */
export interface Palette {
  /** Whether there are colours. */
  on: boolean;
  /** The colours by their names or as #rrggbb, for those who set them by other means; none for a role without colour. */
  colors: Readonly<Partial<Record<ColorRole, string>>>;
  /** It works, or is done. */
  good: Style;
  /** It failed. */
  bad: Style;
  /** It waits for an answer, or deserves a look. */
  warn: Style;
  /** Less important than what stands beside it. */
  faint: Style;
  /** More important than what stands beside it. */
  strong: Style;
  /** Names, keys and my own words. */
  accent: Style;
  emphasis: Style;
  /** A match of a search. */
  found: Style;
  /** Lines of a diff. */
  added: Style;
  removed: Style;
  /** Code, and its parts. */
  code: Style;
  keyword: Style;
  string: Style;
  comment: Style;
  title: Style;
}

/** How lines are drawn: no line is wider than `columns`. */
export interface LineShape {
  columns: number;
  palette: Palette;
}

type Env = Readonly<Record<string, string | undefined>>;

/** A text without a style. */
export const same: Style = (text) => text;

/** No colours. */
export const colorless: Palette = {
  on: false,
  colors: {},
  ...(Object.fromEntries(colorRoles.map((role) => [role, same])) as Record<ColorRole, Style>),
};

/** The settings and the palette of an environment, each as soon as it is known. */
const settings = new WeakMap<Env, ScreenSettings>();
const palettes = new WeakMap<Env, Palette>();

/** Has all palettes of an environment show the theme and the colours of its configuration. */
export function configureColors(env: Env, screen: ScreenSettings): void {
  settings.set(env, screen);
  palettes.delete(env);
}

/**
 * The palette for what is written to a stream. Colours are on where it is a terminal, unless `NO_COLOR` is set or
 * `TERM` is `dumb`, or the theme is `none`. `FORCE_COLOR` and `CLICOLOR_FORCE` win over all of that; `FORCE_COLOR=0` turns colours off.
 */
export function paletteFor(stream: { isTTY?: boolean }, env: Env): Palette {
  const { FORCE_COLOR: force = '', CLICOLOR_FORCE: clicolor = '' } = env;
  if (isNo(force)) return colorless;
  if (force !== '' || (clicolor !== '' && !isNo(clicolor))) return coloredFor(env);
  const isOff = Boolean(env.NO_COLOR) || env.TERM === 'dumb' || settings.get(env)?.theme === 'none';
  return stream.isTTY && !isOff ? coloredFor(env) : colorless;
}

/** A line without the colours of a palette. */
export function withoutColors(line: string): string {
  return line.replaceAll(/\u001b\[[\d;]*m/g, '');
}

function isNo(value: string): boolean {
  return value === '0' || value === 'false';
}

function coloredFor(env: Env): Palette {
  const known = palettes.get(env);
  if (known) return known;
  const formats = formatsOf(settings.get(env) ?? defaultScreen, env);
  const styles = colorRoles.map((role) => {
    const styled = styleOf(formats[role], env);
    // Each line has colours of its own, because lines are cut and shown one by one.
    const style: Style = (text) => text.replaceAll(/[^\n]+/g, styled);
    return [role, style];
  });
  const colors = colorRoles.flatMap((role) => {
    const { color } = formats[role];
    return color === undefined ? [] : [[role, colorForInk(color, env)]];
  });
  const palette = {
    on: true,
    colors: Object.fromEntries(colors) as Palette['colors'],
    ...(Object.fromEntries(styles) as Record<ColorRole, Style>),
  };
  palettes.set(env, palette);
  return palette;
}

type Format = 'dim' | 'bold' | 'italic' | 'inverse';

/** How a role is shown: in a colour, by its name or as #rrggbb, and with the other formats of a terminal. */
interface RoleFormat {
  color?: string;
  also?: Format;
}

type Formats = Readonly<Record<ColorRole, RoleFormat>>;

/** The colours of the terminal itself, which it shows on a dark background readably. */
const dark: Formats = {
  good: { color: 'green' },
  bad: { color: 'red' },
  warn: { color: 'yellow' },
  faint: { also: 'dim' },
  strong: { also: 'bold' },
  accent: { color: 'cyan' },
  emphasis: { also: 'italic' },
  found: { also: 'inverse' },
  added: { color: 'green' },
  removed: { color: 'red' },
  code: { color: 'cyan' },
  keyword: { color: 'magenta' },
  string: { color: 'green' },
  comment: { also: 'dim' },
  title: { color: 'blue' },
};

/** Dark colours: each has a contrast of at least 4.5 to white, also as one of 256 colours. */
const light: Formats = {
  ...dark,
  good: { color: '#116329' },
  bad: { color: '#a40e26' },
  warn: { color: '#875f00' },
  faint: { color: '#5f5f5f' },
  accent: { color: '#005f87' },
  added: { color: '#116329' },
  removed: { color: '#a40e26' },
  code: { color: '#005f87' },
  keyword: { color: '#870087' },
  string: { color: '#116329' },
  comment: { color: '#5f5f5f' },
  title: { color: '#0000af' },
};

/** The formats of a theme with the user's own colours. `auto` is light where the terminal says so in `COLORFGBG`. */
export function formatsOf({ theme, colors }: ScreenSettings, env: Env): Formats {
  const isLight = theme === 'light' || (theme === 'auto' && hasLightBackground(env));
  const own = Object.entries(colors).map(([role, color]) => {
    const { also } = dark[role as ColorRole];
    // A colour takes the place of dim, and stands beside bold, italic and inverse.
    return [role, also === undefined || also === 'dim' ? { color } : { color, also }];
  });
  return { ...(isLight ? light : dark), ...(Object.fromEntries(own) as Partial<Formats>) };
}

/** A variable of terminals such as Konsole and rxvt: the numbers of the text's colour and, last, of the background. */
function hasLightBackground({ COLORFGBG: colors = '' }: Env): boolean {
  const background = Number(colors.split(';').at(-1) || Number.NaN);
  return background === 7 || (background > 8 && background < 16);
}

/** A line in a format, in the number of colours that the terminal has. */
function styleOf({ color, also }: RoleFormat, env: Env): (line: string) => string {
  const isHex = color?.startsWith('#') === true;
  const named = [also, isHex ? undefined : color].filter((one) => one !== undefined);
  const begin = isHex ? beginOf(color, depthOf(env)) : '';
  const styled = (line: string) =>
    named.length === 0 ? line : styleText(named as Format[], line, { validateStream: false });
  if (begin === '') return styled;
  // Where a style within ends its colour, this colour begins again.
  return (line) => `${begin}${styled(line).replaceAll(END, END + begin)}${END}`;
}

/** A colour as ink takes it. With 256 colours ink would choose brighter ones than `nearest256`. */
function colorForInk(color: string, env: Env): string {
  const isOf256 = color.startsWith('#') && depthOf(env) === 8;
  return isOf256 ? `ansi256(${nearest256(color)})` : color;
}

const END = '\u001B[39m';

/** How many bits of colour the terminal shows: 4, 8 or 24. */
function depthOf(env: Env): number {
  // Whether there are colours at all is decided before this.
  const { NO_COLOR: _no, FORCE_COLOR: _force, ...rest } = env;
  return WriteStream.prototype.getColorDepth(rest);
}

function beginOf(hex: string, depth: number): string {
  const [red = 0, green = 0, blue = 0] = rgbOf(hex);
  if (depth >= 24) return `\u001B[38;2;${red};${green};${blue}m`;
  if (depth >= 8) return `\u001B[38;5;${nearest256(hex)}m`;
  const value = Math.round(Math.max(red, green, blue) / 128);
  const bits = [red, green, blue].map((part) => (part > 95 ? 1 : 0));
  const [r = 0, g = 0, b = 0] = bits;
  return `\u001B[${(value > 1 ? 90 : 30) + r + 2 * g + 4 * b}m`;
}

/** The steps of the cube of 6 x 6 x 6 colours. */
const STEPS: readonly number[] = [0, 95, 135, 175, 215, 255];

/** The nearest of 256 colours: one of the cube, or a grey. */
export function nearest256(hex: string): number {
  const wanted = rgbOf(hex);
  const near = wanted.map((part) =>
    STEPS.reduce(
      (best, step, at) => (distance(step, part) < distance(STEPS[best] ?? 0, part) ? at : best),
      0,
    ),
  );
  const [r = 0, g = 0, b = 0] = near;
  const mean = sum(wanted) / 3;
  const grey = Math.max(0, Math.min(23, Math.round((mean - 8) / 10)));
  const far = (rgb: readonly number[]) =>
    rgb.reduce((sum, part, at) => sum + distance(part, wanted[at] ?? 0) ** 2, 0);
  const isGrey =
    far([8 + grey * 10, 8 + grey * 10, 8 + grey * 10]) < far(near.map((at) => STEPS[at] ?? 0));
  return isGrey ? 232 + grey : 16 + 36 * r + 6 * g + b;
}

function distance(one: number, other: number): number {
  return Math.abs(one - other);
}

/** Red, green and blue of #rrggbb. */
function rgbOf(hex: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}
