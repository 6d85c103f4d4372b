import { plain } from '../../../core/lib/plain.ts';
import { wrapped } from '../../terminal/width.ts';
import { ObjectCache, type Shape, type Text } from './reader.ts';

export const outputs = ['stdout', 'stderr'] as const;
export type Output = (typeof outputs)[number];

/** A line that a process has printed. A line that is longer than `LONGEST` is several. */
export interface LogLine {
  output: Output;
  text: string;
}

/**
 * The output of a process that was read. The stored lines of both outputs have no common order; only live lines have.
 */
export interface LogState {
  /** The lines that were there before, in order. */
  before: Readonly<Record<Output, readonly LogLine[]>>;
  /** The lines of both outputs that arrived since. */
  live: readonly LogLine[];
  /** The last line of each output while it has no end: its text as it came, and its index in `live`. */
  open: Readonly<Record<Output, { text: string; at: number } | null>>;
}

export const emptyLog: LogState = {
  before: { stdout: [], stderr: [] },
  live: [],
  open: { stdout: null, stderr: null },
};

/** In UTF-16 code units. */
const LONGEST = 4000;

/** The lines of a text that is older than all that is known of its output. */
export function withOlder(state: LogState, output: Output, text: string): LogState {
  const older = linesOf(output, text.replace(/\n$/, ''));
  const before = { ...state.before, [output]: [...older, ...state.before[output]] };
  return text === '' ? state : { ...state, before };
}

/** The log after some pieces that were printed, in the order in which they came. */
export function withPieces(state: LogState, pieces: readonly LogLine[]): LogState {
  const live = [...state.live];
  const open = { ...state.open };
  for (const { output, text } of pieces) {
    if (text === '') continue;
    const begun = open[output];
    const all = (begun?.text ?? '') + text;
    const rest = all.slice(all.lastIndexOf('\n') + 1);
    const whole = all.slice(0, all.length - rest.length);
    const lines = whole === '' ? [] : linesOf(output, whole.slice(0, -1));
    const parts = rest === '' ? [] : linesOf(output, rest);
    // The first line takes the place of the one that had no end; what came in between stays behind it.
    const [first, ...more] = [...lines, ...parts];
    if (begun && first) live[begun.at] = first;
    else if (first) live.push(first);
    live.push(...more);
    open[output] =
      rest === ''
        ? null
        : {
            // Only the last part of a very long line still grows.
            text: parts.length > 1 ? (parts.at(-1)?.text ?? '') : withoutReplaced(rest),
            at: begun && more.length === 0 ? begun.at : live.length - 1,
          };
  }
  return { ...state, live, open };
}

/** A line without the text before a carriage return, which begins the line again, as bars of progress do. */
function withoutReplaced(line: string): string {
  return line.slice(line.lastIndexOf('\r', line.replace(/\r+$/, '').length - 1) + 1);
}

function linesOf(output: Output, text: string): LogLine[] {
  return text.split('\n').flatMap((line) => {
    const shown = plain(withoutReplaced(line).replace(/\r+$/, ''));
    const parts = shown.match(new RegExp(`[^]{1,${LONGEST}}`, 'g')) ?? [''];
    return parts.map((part) => ({ output, text: part }));
  });
}

export type OutputFilter = 'both' | Output;

/** A line between two parts of a log. */
interface Rule {
  rule: string;
}

/** The output of a process as text: each of its lines is a block. */
export class LogText implements Text {
  #lines: readonly (LogLine | Rule)[] = [];
  readonly #rendered = new ObjectCache<LogLine | Rule, readonly string[]>();

  show(state: LogState, shown: OutputFilter): void {
    this.#lines = partsOf(state, shown);
  }

  count(): number {
    return this.#lines.length;
  }

  textOf(at: number): string {
    const line = this.#lines[at];
    return line && 'text' in line ? line.text : '';
  }

  linesOf(at: number, { columns, palette }: Shape): readonly string[] {
    const line = this.#lines[at];
    if (!line) return [];
    return this.#rendered.get(line, `${columns} ${palette.on}`, () => {
      if ('rule' in line) return [palette.faint(`── ${line.rule} ──`)];
      const lines = wrapped(line.text, columns);
      return line.output === 'stderr' ? lines.map(palette.bad) : lines;
    });
  }
}

const rules = {
  stdout: { rule: 'stdout' },
  stderr: { rule: 'stderr' },
  live: { rule: 'stdout and stderr, live' },
};

/** The lines of the outputs that are shown. Where both have older lines, rules say which is which. */
function partsOf({ before, live }: LogState, shown: OutputFilter): readonly (LogLine | Rule)[] {
  if (shown !== 'both') return [...before[shown], ...live.filter(({ output }) => output === shown)];
  const known = outputs.filter((output) => before[output].length > 0);
  if (known.length < 2) return [...known.flatMap((output) => before[output]), ...live];
  const older = outputs.flatMap((output) => [rules[output], ...before[output]]);
  return live.length === 0 ? older : [...older, rules.live, ...live];
}
