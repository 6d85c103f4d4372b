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
    return `a path that begins with "~" can match nothing: give the absolute path`;
  if (/^(["']).*\1$/.test(pattern))
    return 'quotes are not read in a rule, so the path can match nothing: leave them out';
  const open = names.findIndex((name) => name.includes('*'));
  if (open >= 0 && names.indexOf('..', open) >= 0)
    return '".." behind a * can match nothing: give the path without it';
  const shortest = path.posix.normalize(pattern).replace(/(?<=.)\/$/, '');
  if (shortest === '/' || shortest === '.' || shortest.split('/').at(-1) === '..')
    return `"${pattern}" is a directory, so it can match nothing: add /** for all files below it`;
  if (pattern.endsWith('/'))
    return `a path that ends with "/" can match nothing: write ${shortest}/** for all files below it`;
  if (pattern.startsWith('/') && pattern !== shortest)
    return `it can match nothing: the path is ${shortest}`;
  return null;
}

/** What two rules have in common that decide the same. */
export function conditionsOf(
  rule: Pick<ApprovalRule, 'effect' | 'provider' | 'tool' | 'command' | 'path' | 'directory'>,
): string {
  const { effect, provider, tool, command, path: file, directory } = rule;
  const words = command?.split(/[ \t]+/).filter((word) => word !== '') ?? null;
  const names = file === null ? null : path.posix.normalize(file);
  return JSON.stringify([effect, provider, tool, words, names, directory]);
}
