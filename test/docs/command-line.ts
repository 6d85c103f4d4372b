import { readFileSync } from 'node:fs';
import path from 'node:path';

/** A command as the build describes it. */
interface Described {
  name: string;
  aliases: string[];
  commands: Described[];
  operands: object[];
  options: { flags: string[]; value: object | null }[];
}

const table = path.join(import.meta.dirname, '../../dist/assets/commands.json');

/** The command lines of cadre in a line of shell, or between backquotes: each as its words, without `cadre`. */
export function commandLinesIn(text: string): string[][] {
  const words = text
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .flatMap((line) => wordsOf(line));
  const lines: string[][] = [];
  let line: string[] | undefined;
  for (const word of words) {
    if (word === 'cadre') lines.push((line = []));
    else if (/^[|;&<>()#\n]/.test(word)) line = undefined;
    else line?.push(word);
  }
  return lines;
}

/** The command or flag of a command line that does not exist. Null if the program has all of them. */
export function unknownIn(words: readonly string[]): string | null {
  const { tree } = JSON.parse(readFileSync(table, 'utf8')) as { tree: Described };
  const above: Described[] = [tree];
  const left = [...words];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const here = above.at(-1) ?? tree;
    if (word === '--') return null;
    if (/^-./.test(word)) {
      const [flag] = word.split('=');
      const options = above.flatMap(({ options }) => options);
      const known = [...options, ...general].find(({ flags }) => flags.includes(flag ?? ''));
      if (!known) return `${here.name} has no ${word}`;
      if (known.value && !word.includes('=')) left.shift();
    } else if (here.commands.length > 0) {
      const next = here.commands.find((one) => [one.name, ...one.aliases].includes(word));
      // A command may take arguments, and have others below it.
      if (!next && here.operands.length > 0) continue;
      if (!next) return `${here.name} has no ${word}`;
      above.push(next);
    }
  }
  return null;
}

const general = [{ flags: ['-h', '--help'], value: null }];

/** The words of a line of shell; quoted text is one of them, and so are the signs between commands. */
function wordsOf(line: string): string[] {
  const words = line.match(/#.*$|\$\(|[|;&<>()]+|(?:"[^"]*"|'[^']*'|[^\s|;&<>()"'])+/g) ?? [];
  return [...words.map((word) => word.replace(/^["']|["']$/g, '')), '\n'];
}
