import type { ApprovalRule, Ruling } from '../api/approval-rules.ts';
import { fits, readPattern, type Strictness } from './command-pattern.ts';
import { fitsPath, isInside } from './path-pattern.ts';
import type { Wish } from './wish.ts';

/**
 * Decides a wish by the rules. To deny or to ask, a rule has to fit any part of it; to allow, one rule has to fit all of
 * it. A command that cannot be read with certainty fits no pattern, and is never allowed.
 */
export function rule(rules: readonly ApprovalRule[], wish: Wish): Ruling {
  if (wish.kind === 'question') return byPeople('it is a question, which only a person can answer');
  for (const effect of ['deny', 'ask'] as const) {
    const found = rules.find((one) => one.effect === effect && touches(one, wish));
    if (found) return { effect, rule: found, why: wordsOf(found) };
  }
  for (const { words } of wish.commands) if ('why' in words) return byPeople(words.why);
  const allowing = rules.find((one) => one.effect === 'allow' && covers(one, wish));
  if (!allowing) return byPeople(whyNotAllowed(rules, wish));
  return { effect: 'allow', rule: allowing, why: wordsOf(allowing) };
}

/** A rule in words, such as `allow command git status`. */
export function wordsOf(rule: ApprovalRule): string {
  const conditions = (['command', 'path', 'tool', 'provider', 'directory'] as const).flatMap(
    (name) => {
      const value = rule[name];
      return value === null ? [] : [`${name} ${value}`];
    },
  );
  return `${rule.effect} ${conditions.join(', ')}`;
}

function byPeople(why: string): Ruling {
  return { effect: 'ask', rule: null, why };
}

function whyNotAllowed(rules: readonly ApprovalRule[], { rest }: Wish): string {
  if (!rules.some(({ effect }) => effect === 'allow')) return 'no rule allows anything';
  return rest ?? 'no rule fits';
}

/** Whether any part of the wish fits the rule. */
function touches(rule: ApprovalRule, wish: Wish): boolean {
  if (!isFor(rule, wish)) return false;
  const { command, path, directory } = rule;
  const directories = wish.commands.length > 0 ? wish.commands.map(({ cwd }) => cwd) : [wish.cwd];
  if (directory !== null && !directories.some((one) => one === null || isInside(one, directory)))
    return false;
  if (command !== null && !wish.commands.some(({ words }) => fitsCommand(command, words, 'any')))
    return false;
  return (
    path === null ||
    wish.files.some(({ names }) => names.some((name) => fitsPath(path, wish.cwd, name)))
  );
}

/** Whether all of the wish fits the rule, with certainty. */
function covers(rule: ApprovalRule, wish: Wish): boolean {
  if (!isFor(rule, wish)) return false;
  const { commands, files, kind, cwd } = wish;
  const isOfTool = kind === 'tool' && commands.length === 0 && files.length === 0;
  if (isOfTool)
    return rule.tool !== null && rule.command === null && rule.path === null && isIn(rule, cwd);
  if (wish.rest !== null) return false;
  const { command, path } = rule;
  return (
    commands.length + files.length > 0 &&
    commands.every(
      (one) => command !== null && fitsCommand(command, one.words, 'strict') && isIn(rule, one.cwd),
    ) &&
    files.every(
      ({ names, isCertain }) =>
        path !== null &&
        isCertain &&
        names.every((name) => fitsPath(path, cwd, name)) &&
        isIn(rule, cwd),
    )
  );
}

function isFor({ provider, tool }: ApprovalRule, wish: Wish): boolean {
  return (provider === null || provider === wish.provider) && (tool === null || tool === wish.tool);
}

function isIn({ directory }: ApprovalRule, cwd: string | null): boolean {
  return directory === null || (cwd !== null && isInside(cwd, directory));
}

function fitsCommand(
  command: string,
  words: Wish['commands'][number]['words'],
  strictness: Strictness,
): boolean {
  const pattern = readPattern(command, strictness);
  return 'words' in pattern && 'words' in words && fits(pattern, words.words, strictness);
}
