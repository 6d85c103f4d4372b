import { isFleetAddress } from '../../../bundles/choose.ts';
import type { CommandTree, CommandValue } from './table.ts';

/** Where on the command line the last word is. */
export interface CursorContext {
  /** The commands from the root to the one that the words name. */
  path: readonly CommandTree[];
  /** The value that the last word is part of; null for the name of a command or flag. */
  value: CommandValue | null;
  /** The flag whose value the last word is; null for an argument. */
  flag: string | null;
  /** Whether a name of a command may stand here. */
  takesCommand: boolean;
  /** The values that are on the line already, by their placeholder (arguments) or flag (options). */
  values: ReadonlyMap<string, string>;
}

/** Reads the words before the last one, of which the first is the first argument of the program. */
export function cursorContextOf(tree: CommandTree, words: readonly string[]): CursorContext {
  const path = [tree];
  const values = new Map<string, string>();
  let count = 0;
  let waiting: { flag: string; value: CommandValue } | null = null;
  for (const word of words.slice(0, -1)) {
    // bash cuts --flag=value in three.
    if (word === '=') continue;
    const here = path.at(-1) ?? tree;
    const next = here.commands.find(({ name, aliases }) => name === word || aliases.includes(word));
    if (waiting && !isOther(waiting.flag, word)) {
      values.set(waiting.flag, word);
      waiting = null;
      continue;
    }
    waiting = null;
    if (word.startsWith('-')) waiting = valueOf(path, word, values);
    else if (count === 0 && next) path.push(next);
    else {
      const operand = operandAt(here, count);
      if (operand) values.set(operand.name, word);
      count += 1;
    }
  }
  if (waiting && isOther(waiting.flag, words.at(-1) ?? '')) waiting = null;
  const here = path.at(-1) ?? tree;
  return {
    path,
    value: waiting?.value ?? operandAt(here, count),
    flag: waiting?.flag ?? null,
    takesCommand: waiting === null && count === 0 && here.commands.length > 0,
    values,
  };
}

/** Whether the word behind a flag is not its value, but stands for itself: an address is optional behind `--fleet`. */
function isOther(flag: string, word: string): boolean {
  return flag === '--fleet' && !isFleetAddress(word);
}

/** The flag that a word names and the value that it still wants. `--flag=value` has its value. */
function valueOf(
  path: readonly CommandTree[],
  word: string,
  values: Map<string, string>,
): { flag: string; value: CommandValue } | null {
  const [name = '', ...text] = word.split('=');
  const options = path.flatMap((command) => command.options);
  const option = options.find(({ flags }) => flags.includes(name));
  if (!option?.value) return null;
  const flag = option.flags.at(-1) ?? name;
  if (text.length === 0) return { flag, value: option.value };
  values.set(flag, text.join('='));
  return null;
}

/** The argument at a position; the last one if it takes any number of words. */
function operandAt({ operands }: CommandTree, position: number): CommandValue | null {
  const last = operands.at(-1);
  return operands[position] ?? (last?.variadic ? last : null);
}
