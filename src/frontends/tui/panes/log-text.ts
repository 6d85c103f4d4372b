import { wrapped } from '../../terminal/width.ts';
import { type LogLine, type LogState, type Output, emptyLog, outputs } from './log-state.ts';
import type { Shape, Text } from './reader.ts';

/** Which outputs are shown. */
export type OutputFilter = 'both' | Output;

/** A line between two parts of a log. */
interface Rule {
  rule: string;
}

/** The output of a process as text: each of its lines is a block. */
export class LogText implements Text {
  #lines: readonly (LogLine | Rule)[] = [];
  #rendered = new WeakMap<LogLine | Rule, { key: string; lines: readonly string[] }>();

  constructor() {
    this.show(emptyLog, 'both');
  }

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
    const key = `${columns} ${palette.on}`;
    const known = this.#rendered.get(line);
    if (known?.key === key) return known.lines;
    const lines =
      'rule' in line
        ? [palette.faint(`── ${line.rule} ──`)]
        : wrapped(line.text, columns).map((one) =>
            line.output === 'stderr' ? palette.bad(one) : one,
          );
    this.#rendered.set(line, { key, lines });
    return lines;
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
