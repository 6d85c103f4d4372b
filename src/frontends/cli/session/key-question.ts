import { widthOf } from '../../terminal/width.ts';
import { Keyboard, noKeys } from './keyboard.ts';
import { sizeOf, type Terminal } from './terminal.ts';

export interface KeyQuestion {
  terminal: Terminal;
  keyboard: Keyboard;
  signal: AbortSignal;
}

export type Key = readonly [key: string, label: string];

/**
 * Shows lines page by page. Returns the key that ended it before the last line, else null. `others` are keys that end it
 * in addition to those for no and for an interrupt.
 */
export async function showAll(
  question: KeyQuestion,
  lines: readonly string[],
  others: readonly Key[] = [],
): Promise<string | null> {
  const { terminal, keyboard, signal } = question;
  for (let from = 0; ;) {
    const to = Math.min(lines.length, from + sizeOf(terminal).rows - 1);
    terminal.output.write(
      lines
        .slice(from, to)
        .map((line) => `${line}\n`)
        .join(''),
    );
    if (to === lines.length) return null;
    if (from === 0) await keyboard.quiet(terminal.clock, signal);
    from = to;
    const key = await keyOf(question, `${lines.length - to} more lines:`, [
      [' ', '[space] show them'],
      ['n', '[n] no'],
      ...others,
      ['', '[^C] interrupt'],
    ]);
    if (key !== ' ') return key;
  }
}

/** Shows lines page by page. Returns whether the last line was shown. Rejects with the signal's reason if it aborts. */
export async function showToEnd(
  terminal: Terminal,
  lines: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  using keyboard = new Keyboard(terminal);
  return (await showAll({ terminal, keyboard, signal }, lines)) === null;
}

/** Shows keys in one line, waits for one of them or of `always`, and erases the line. */
export async function keyOf(
  question: KeyQuestion,
  what: string,
  keys: readonly Key[],
): Promise<string> {
  const { terminal, keyboard, signal } = question;
  const { output, palette } = terminal;
  const show = () => {
    const line = fitting([what, ...keys.map(([, label]) => label)], sizeOf(terminal).columns - 2);
    output.write(`\r\u001B[K${palette.strong(line)} `);
  };
  show();
  try {
    for (;;) {
      const pressed = await keyboard.next(signal);
      const wanted = pressed.toLowerCase();
      const key = keys.some(([one]) => one === wanted) ? wanted : (synonyms[wanted] ?? wanted);
      if (key === noKeys.continued) show();
      else if (always.has(key) || keys.some(([one]) => one === key)) return key;
    }
  } finally {
    output.write('\r\u001B[K');
  }
}

export const LEAVE = '\u0004';
const always: ReadonlySet<string> = new Set([noKeys.gone, LEAVE]);

/** Keys that mean the same; `d` is the key of the screen. None of them accepts. */
const synonyms: Readonly<Record<string, string>> = { d: 'n', '\r': ' ', '\n': ' ' };

/** As many of the parts as fit into a line, from the first. */
function fitting([first = '', ...others]: readonly string[], columns: number): string {
  let line = first;
  for (const part of others) {
    const longer = `${line}  ${part}`;
    if (widthOf(longer) > columns) break;
    line = longer;
  }
  return line;
}
