/**
 * The characters that stand for the symbols of the screen and of tables where a terminal shows only ASCII. An agent may write
 * the same symbols, so none of these characters has a meaning in a shell: a command must not look like another one.
 */
const ascii: ReadonlyMap<string, string> = new Map(
  '▌= ▸+ ▾- ◆! ●@ ◐% ○o ✓+ ✗x ★+ ·. •- …_ │: ┃: ─- ←- ↑^ →- ↓v ⏎= ↵= ↻%'
    .split(' ')
    .map(([symbol = '', other = '']) => [symbol, other]),
);
const symbols = new RegExp(`[${[...ascii.keys()].join('')}]`, 'gu');

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Whether the locale has a character set other than UTF-8: `C` and `POSIX` do. A locale without a character set counts as
 * UTF-8, and so does an environment without a locale.
 */
export function isAsciiLocale({ LC_ALL, LC_CTYPE, LANG }: Env): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG || '';
  if (/^(C|POSIX)$/.test(locale)) return true;
  const [, charset = 'UTF-8'] = /\.([^@]*)/.exec(locale) ?? [];
  return !/^utf-?8$/i.test(charset);
}

/** A text with ASCII for each symbol, one character for one. Other characters, such as letters of users, stay. */
export function inAscii(text: string): string {
  return text.replaceAll(symbols, (one) => ascii.get(one) ?? one);
}

/** A terminal that shows symbols as ASCII, if the locale has no UTF-8; any other output as it is. */
export function forLocale<T extends NodeJS.WritableStream & { isTTY?: boolean }>(
  output: T,
  env: Env,
): T {
  if (output.isTTY !== true || !isAsciiLocale(env)) return output;
  const write = (chunk: unknown, ...more: []) =>
    output.write(typeof chunk === 'string' ? inAscii(chunk) : (chunk as string), ...more);
  // A stand-in with the listeners, sizes and modes of the output itself.
  return new Proxy(output, {
    get(target, name) {
      if (name === 'write') return write;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
