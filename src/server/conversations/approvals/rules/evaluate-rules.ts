import type { ApprovalRule, RuleDecision } from '../../../../api/approval-rules.ts';
import { fitsAny } from './command-forms.ts';
import { type Misfit, misfitOf, readPattern } from './command-pattern.ts';
import { reachesOwnName, reachesUnwritten } from './own-names.ts';
import { isInside } from '../../../../core/lib/paths.ts';
import { fitsAnyPath, fitsPath } from './path-pattern.ts';
import type { RequestedAction, RequestedCommand } from './requested-action.ts';

/**
 * Decides a requested action by the rules. To deny or to ask, a rule has to fit any part of it; to allow, one rule has to fit all of
 * it. A command that cannot be read with certainty fits no pattern, and is never allowed.
 */
export function evaluateRules(
  rules: readonly ApprovalRule[],
  action: RequestedAction,
): RuleDecision {
  if (action.kind === 'question')
    return byPeople('the request is a question, which only a user can answer');
  for (const effect of ['deny', 'ask'] as const) {
    const found = rules.find((one) => one.effect === effect && touches(one, action));
    if (found) return { effect, rule: found, why: whyBy(found) };
  }
  for (const { words } of action.commands) if ('why' in words) return byPeople(words.why);
  const allowing = rules.find((one) => one.effect === 'allow' && covers(one, action));
  if (!allowing) return byPeople(whyNotAllowed(rules, action));
  return { effect: 'allow', rule: allowing, why: ruleText(allowing) };
}

/** A rule in words, such as `allow command git status`. */
export function ruleText(rule: ApprovalRule): string {
  const conditions = (['command', 'path', 'tool', 'provider', 'directory'] as const).flatMap(
    (name) => {
      const value = rule[name];
      return value === null ? [] : [`${name} ${value}`];
    },
  );
  return `${rule.effect} ${conditions.join(', ')}`;
}

function whyBy(rule: ApprovalRule): string {
  return rule.refused === null ? ruleText(rule) : `${ruleText(rule)}: ${rule.refused}`;
}

function byPeople(why: string): RuleDecision {
  return { effect: 'ask', rule: null, why };
}

/** Returns why no rule allows the action. If the words of a rule are similar to the command, the reason names the difference. */
function whyNotAllowed(rules: readonly ApprovalRule[], action: RequestedAction): string {
  const allowing = rules.filter((one) => one.effect === 'allow');
  if (allowing.length === 0) return 'no rule allows anything';
  if (action.rest !== null) return action.rest;
  const nearest = allowing
    .filter((one) => isFor(one, action))
    .flatMap((one) =>
      action.commands.map((command) => ({ one, misfit: misfitIn(one, command, action) })),
    )
    .reduce<{ one: ApprovalRule; misfit: Misfit } | null>(
      (best, { one, misfit }) =>
        misfit !== null && misfit.at > (best?.misfit.at ?? 0) ? { one, misfit } : best,
      null,
    );
  if (nearest) return `${nearest.misfit.why} (${ruleText(nearest.one)})`;
  const uncertain = action.files.find(({ isCertain }) => !isCertain);
  if (uncertain)
    return `the file ${JSON.stringify(uncertain.names[0])} cannot be identified: its name is relative, a link in its path is broken, or the file system does not answer`;
  const own = action.files.find(({ names }) =>
    names.some((name) => reachesUnwritten(name, action.cwd)),
  );
  if (own)
    return `${JSON.stringify(own.names.at(-1))} is hidden, or belongs to git or an agent: a rule has to name it without *`;
  return 'no rule matches';
}

/** Whether any part of the action fits the rule. */
function touches(rule: ApprovalRule, action: RequestedAction): boolean {
  if (!isFor(rule, action)) return false;
  const { command, path, directory } = rule;
  const directories =
    action.commands.length > 0 ? action.commands.flatMap(({ cwds }) => cwds) : [action.cwd];
  if (directory !== null && !directories.some((one) => one === null || isInside(one, directory)))
    return false;
  if (command !== null && !action.commands.some(({ forms }) => isDenied(command, forms)))
    return false;
  return (
    path === null ||
    fitsAnyPath(
      path,
      action.cwd,
      action.files.flatMap(({ names }) => names),
      'any',
    )
  );
}

/** Whether the whole action certainly fits the rule. */
function covers(rule: ApprovalRule, action: RequestedAction): boolean {
  if (!isFor(rule, action)) return false;
  const { commands, files, kind, cwd } = action;
  const isOfTool = kind === 'tool' && commands.length === 0 && files.length === 0;
  if (isOfTool)
    return rule.tool !== null && rule.command === null && rule.path === null && isIn(rule, cwd);
  if (action.rest !== null) return false;
  const { path } = rule;
  // A tool of another kind may take the same fields for something else: a command for another machine.
  if (commands.length > 0 && kind !== 'command') return false;
  if (files.length > 0 && kind !== 'file_change') return false;
  return (
    commands.length + files.length > 0 &&
    commands.every((one) => misfitIn(rule, one, action) === null) &&
    files.every(
      ({ names, isCertain }) =>
        path !== null &&
        isCertain &&
        names.every(
          (name) =>
            fitsPath(path, cwd, name, 'strict') &&
            !reachesOwnName(name, path.startsWith('/') ? path : `${cwd}/${path}`),
        ) &&
        isIn(rule, cwd),
    )
  );
}

function isFor({ provider, tool }: ApprovalRule, action: RequestedAction): boolean {
  return (
    (provider === null || provider === action.provider) && (tool === null || tool === action.tool)
  );
}

function isIn({ directory }: ApprovalRule, cwd: string | null): boolean {
  return directory === null || (cwd !== null && isInside(cwd, directory));
}

function isDenied(command: string, forms: RequestedCommand['forms']): boolean {
  const pattern = readPattern(command, 'any');
  return 'words' in pattern && fitsAny(pattern, forms);
}

/**
 * Returns why a rule does not allow a command; null if it allows it. Without a directory, a rule is good in the session's
 * alone: what a command does depends on the files where it runs, and an agent may have written those.
 */
function misfitIn(
  { command, directory, i_know }: ApprovalRule,
  { words: read, cwd, leadsOut }: RequestedCommand,
  action: RequestedAction,
): Misfit | null {
  const pattern = command === null ? null : readPattern(command, 'strict', i_know);
  if (pattern === null || 'why' in pattern || 'why' in read)
    return { at: 0, why: 'no rule matches' };
  const { words } = read;
  const misfit = misfitOf(pattern, words, leadsOut);
  if (misfit !== null) return misfit;
  if (cwd === null)
    return { at: words.length, why: 'the directory of the command cannot be determined' };
  if (directory === null ? cwd === action.cwd : isInside(cwd, directory)) return null;
  const where =
    directory === null
      ? 'outside the directory of the session: add a directory to the rule'
      : 'outside the directory of the rule';
  return { at: words.length, why: `the command would run in ${cwd}, ${where}` };
}
