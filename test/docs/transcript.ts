import type { Block } from './page.ts';

/** A command of a block, with what a page says that it writes. */
export interface Step {
  /** Where the page has it, as `README.md:42`. */
  place: string;
  command: string;
  output: string;
  /** The line of the page on which the output begins. */
  outputLine: number;
}

/** Commands of a transcript and their outputs. A command is a line after `$ `, and continues after a final backslash. */
export function stepsOf({ page, line, text }: Block): Step[] {
  const steps: { at: number; command: string[]; output: string[] }[] = [];
  for (const [at, words] of text.split('\n').entries()) {
    const last = steps.at(-1);
    if (words.startsWith('$ '))
      steps.push({ at: line + at, command: [words.slice(2)], output: [] });
    else if (!last) throw new Error(`${page}:${line + at}: a transcript begins with "$ "`);
    else if (last.output.length === 0 && last.command.at(-1)?.endsWith('\\'))
      last.command.push(words);
    else last.output.push(words);
  }
  return steps.map(({ at, command, output }) => ({
    place: `${page}:${at}`,
    command: command.join('\n'),
    output: output.join('\n').trimEnd(),
    outputLine: at + command.length,
  }));
}
