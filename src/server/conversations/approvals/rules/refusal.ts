import path from 'node:path';
import type { ApprovalRule } from '../../../../api/approval-rules.ts';
import { readPattern, whyNothingFits } from './command-pattern.ts';

type Conditions = Pick<ApprovalRule, 'effect' | 'command' | 'path' | 'i_know'>;

/** A field of a rule and why it cannot be as it is. */
export interface Refusal {
  field: 'command' | 'path';
  why: string;
}

/** Why a rule can match nothing, or would allow more than it says; null if neither. */
export function refusalOf({ effect, command, path: file, i_know }: Conditions): Refusal | null {
  if (file !== null) {
    const why = whyNoFile(file);
    return why === null ? null : { field: 'path', why };
  }
  if (command === null) return null;
  const why = whyNothingFits(command);
  if (why !== null) return { field: 'command', why };
  const pattern = readPattern(command, effect === 'allow' ? 'strict' : 'any', i_know);
  return 'why' in pattern ? { field: 'command', why: pattern.why } : null;
}

/** Why no file fits a pattern of paths; null if some may. */
function whyNoFile(pattern: string): string | null {
  const names = pattern.split('/');
  if (names[0]?.startsWith('~') === true)
    return 'a path that starts with "~" never matches: use the absolute path';
  if (/^(["']).*\1$/.test(pattern))
    return 'a path with quotes never matches, because rules do not read quotes: leave them out';
  const open = names.findIndex((name) => name.includes('*'));
  if (open >= 0 && names.indexOf('..', open) >= 0)
    return '".." after * never matches: write the path without ".."';
  const shortest = path.posix.normalize(pattern).replace(/(?<=.)\/$/, '');
  if (shortest === '/' || shortest === '.' || shortest.split('/').at(-1) === '..')
    return `"${pattern}" is a directory, so the rule never matches: add /** for all files below it`;
  if (pattern.endsWith('/'))
    return `a path that ends with "/" never matches: use ${shortest}/** for all files below it`;
  if (pattern.startsWith('/') && pattern !== shortest)
    return `the rule never matches: the path has to be written as ${shortest}`;
  return null;
}

/** Returns the fields in which two rules with the same decisions are equal. */
export function conditionsOf(
  rule: Pick<ApprovalRule, 'effect' | 'provider' | 'tool' | 'command' | 'path' | 'directory'>,
): string {
  const { effect, provider, tool, command, path: file, directory } = rule;
  const words = command?.split(/[ \t]+/).filter((word) => word !== '') ?? null;
  const names = file === null ? null : path.posix.normalize(file);
  return JSON.stringify([effect, provider, tool, words, names, directory]);
}
