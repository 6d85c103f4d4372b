import { styleText } from 'node:util';

export type Style = (text: string) => string;

/** The styles of everything that cadre shows on a terminal. Where colours are off, each returns its text unchanged. */
export interface Palette {
  /** Whether there are colours. */
  on: boolean;
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
  /** What a search found. */
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

type Format = Parameters<typeof styleText>[0];

const formats: Record<Exclude<keyof Palette, 'on'>, Format> = {
  good: 'green',
  bad: 'red',
  warn: 'yellow',
  faint: 'dim',
  strong: 'bold',
  accent: 'cyan',
  emphasis: 'italic',
  found: 'inverse',
  added: 'green',
  removed: 'red',
  code: 'cyan',
  keyword: 'magenta',
  string: 'green',
  comment: 'dim',
  title: 'blue',
};

/** No colours. */
export const colorless = paletteOf(false);
const colored = paletteOf(true);

/**
 * The palette for what is written to a stream. Colours are on where it is a terminal, unless `NO_COLOR` is set or
 * `TERM` is `dumb`. `FORCE_COLOR` and `CLICOLOR_FORCE` win over all of that; `FORCE_COLOR=0` turns colours off.
 */
export function paletteFor(
  stream: { isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Palette {
  const { FORCE_COLOR: force = '', CLICOLOR_FORCE: clicolor = '' } = env;
  if (isNo(force)) return colorless;
  if (force !== '' || (clicolor !== '' && !isNo(clicolor))) return colored;
  const isOff = Boolean(env.NO_COLOR) || env.TERM === 'dumb';
  return stream.isTTY && !isOff ? colored : colorless;
}

/** A line without the colours of a palette. */
export function withoutColors(line: string): string {
  return line.replaceAll(/\u001b\[[\d;]*m/g, '');
}

function isNo(value: string): boolean {
  return value === '0' || value === 'false';
}

function paletteOf(on: boolean): Palette {
  const styles = Object.entries(formats).map(([name, format]) => {
    // Each line has colours of its own, because lines are cut and shown one by one.
    const style: Style = (text) =>
      text.replaceAll(/[^\n]+/g, (line) => styleText(format, line, { validateStream: false }));
    return [name, on ? style : (text: string) => text];
  });
  return { on, ...(Object.fromEntries(styles) as Omit<Palette, 'on'>) };
}
