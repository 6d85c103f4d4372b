import type { CommandPattern } from './command-pattern.ts';
import { gapsIn } from './glob.ts';
import { isRunningOption, hasSubcommands, isGroup, isWrapper, namesOf } from './programs.ts';
import { wordsOf } from './shell-words.ts';

type Command = readonly string[];

/** More commands within one are not looked for. */
const MAX_COMMANDS = 100;

/** Returns a command and the texts in it that a program may run as a command: `git push` of `sudo sh -c 'git push'`. */
export function commandsIn(command: Command): readonly Command[] {
  const found = [command];
  for (const one of found) {
    if (found.length > MAX_COMMANDS) break;
    found.push(...aliasesIn(one));
    if (programsOf(one).length > 1) found.push(...one.slice(1).flatMap((word) => scriptsIn(word)));
  }
  return found;
}

const ALIAS = /^alias\.([^=]+?)(?:\.command)?=(.*)$/is;

/** The commands of the aliases that a git command sets for itself: `push x` of `git -c alias.p=push p x`. */
function aliasesIn(command: Command): Command[] {
  const git = command.findIndex((word) => namesOf(word).includes('git'));
  if (git < 0) return [];
  return command.flatMap((word, at) => {
    const [, name = '', value = ''] = ALIAS.exec(word) ?? [];
    if (at <= git || command[at - 1] !== '-c' || value === '') return [];
    const use = command.findIndex(
      (one, index) => index > at && one.toLowerCase() === name.toLowerCase(),
    );
    const read = wordsOf(value.replace(/^!/, ''));
    if (!('words' in read)) return [];
    const others = use < 0 ? [] : command.slice(use + 1);
    return [[...(value.startsWith('!') ? [] : ['git']), ...read.words, ...others]];
  });
}

function scriptsIn(word: string): Command[] {
  if (!/[ \t]/.test(word)) return [];
  return valuesIn(word).flatMap((text) => {
    // The value of an alias of git, in a variable.
    const read = wordsOf(text.replace(/^(?:GIT_CONFIG_VALUE_\d+=)?!/, ''));
    return 'words' in read && read.words.length < text.length ? [read.words] : [];
  });
}

/** A word, and the value of the option that it may be: `x` of `--command=x` and of `-cx`. */
function valuesIn(word: string): string[] {
  const value = word.slice(word.indexOf('=') + 1);
  return [word, ...(word.startsWith('-') ? [value, word.slice(2)] : [])];
}

/**
 * Whether one of the commands fits the pattern of a rule to deny or ask: without the directory or version of its program,
 * without the options before its subcommand, and behind `sudo`, `env` and the like. It prefers false matches to missed
 * ones. Each word is compared once with each word of the pattern.
 */
export function fitsAny({ words }: CommandPattern, commands: readonly Command[]): boolean {
  return commands.some((command) => fits(words, command));
}

function fits(pattern: readonly string[], command: Command): boolean {
  const isOpen = pattern.at(-1) === '**';
  const [program, ...others] = isOpen ? pattern.slice(0, -1) : pattern;
  if (program === undefined) return true;
  const programs = programsIn(command).filter(({ names }) =>
    names.some((name) => gapsIn(program, name) !== null),
  );
  if (programs.length === 0) return false;
  const restFits = (at: number) =>
    (isOpen ? command.length - at >= others.length : command.length - at === others.length) &&
    others.every((wanted, offset) => gapsIn(wanted, command[at + offset] ?? '') !== null);
  const fitting = Array.from({ length: command.length + 1 }, (_, at) => restFits(at));
  let next = command.length + 1;
  /** The first index from each one on where the rest fits. */
  const nextFitting = fitting.map(() => 0);
  for (let at = command.length; at >= 0; at--) {
    if (fitting[at] === true) next = at;
    nextFitting[at] = next;
  }
  return programs.some(
    ({ from, last }) => fitting[from] === true || (nextFitting[from] ?? Infinity) <= (last ?? -1),
  );
}

interface ProgramWord {
  names: readonly string[];
  /** The index of the word behind it, and the last index where its subcommand may be; null where it has none. */
  from: number;
  last: number | null;
}

/** The programs of each command, which every rule compares. */
const known = new WeakMap<Command, readonly ProgramWord[]>();

function programsIn(command: Command): readonly ProgramWord[] {
  const found = known.get(command) ?? readPrograms(command);
  known.set(command, found);
  return found;
}

function readPrograms(command: Command): ProgramWord[] {
  const stops = subcommandsOf(command);
  return programsOf(command).map((at) => {
    const word = command[at] ?? '';
    const names = [...new Set([word, ...(at > 0 ? valuesIn(word) : [])].flatMap(namesOf))];
    const from = at + 1;
    if (!names.some(hasSubcommands)) return { names, from, last: null };
    const to = stops[from] ?? command.length;
    const isBehindGroup = names.some((name) => isGroup(name, command[to] ?? ''));
    return { names, from, last: isBehindGroup ? to + 1 : to };
  });
}

/** The indexes of the words that may be the program of a command. */
function programsOf(command: Command): number[] {
  const all = command.map((_, at) => at);
  if (isWrapper(command)) return all;
  const [program = ''] = command;
  const names = namesOf(program);
  const runs = (word = '') =>
    names.some((name) => isRunningOption(name, word) || (name === 'git' && word === '-x'));
  let isBehindWrapper = false;
  return all.filter((at) => {
    const isRun = at > 0 && runs(command[at - 1]);
    isBehindWrapper ||= isRun && isWrapper(command.slice(at, at + 2));
    return at === 0 || isBehindWrapper || isRun || runs(command[at]);
  });
}

/**
 * For each index, where the subcommand of a program before it is at the latest: the first word that neither is an
 * option nor follows one, which it may be the value of. `push` of `git -C directory push`.
 */
function subcommandsOf(command: Command): number[] {
  const isOption = (at: number) => command[at]?.startsWith('-') === true;
  const stops: number[] = [];
  let next = command.length;
  for (let at = command.length - 1; at > 0; at--) {
    stops[at] = isOption(at) ? next : at;
    if (!isOption(at) && !isOption(at - 1)) next = at;
  }
  return stops;
}
