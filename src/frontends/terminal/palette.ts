import {
  type ColorRole,
  colorRoles,
  defaultScreen,
  type ScreenSettings,
} from '../../core/lib/screen-settings.ts';
import { colorForInk, formatsOf, styleOf } from './themes.ts';

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

type Env = Readonly<Record<string, string | undefined>>;

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
  const colors = Object.fromEntries(
    colorRoles.flatMap((role) => {
      const { color } = formats[role];
      return color === undefined ? [] : [[role, colorForInk(color, env)]];
    }),
  );
  const palette = {
    on: true,
    colors,
    ...(Object.fromEntries(styles) as Record<ColorRole, Style>),
  };
  palettes.set(env, palette);
  return palette;
}

function same(text: string): string {
  return text;
}
