import { type AppError, usageError } from '../../api/errors.ts';
import type { Command } from 'commander';
import { nearest } from '../../core/lib/nearest.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';
import { examples } from './examples.ts';

/** Verbs of other programs, and of cadre, that mean the same. */
const synonyms: readonly (readonly string[])[] = [
  ['show', 'get', 'view', 'describe', 'info', 'inspect', 'cat'],
  ['list', 'ls', 'ps', 'all'],
  ['create', 'new', 'start', 'add', 'run', 'spawn', 'exec', 'set'],
  ['stop', 'kill', 'interrupt', 'close', 'cancel', 'end', 'down', 'terminate'],
  ['delete', 'remove', 'rm', 'kill', 'close', 'cancel', 'revoke', 'drop', 'cleanup', 'destroy'],
  ['send', 'message', 'say', 'tell', 'prompt', 'chat', 'ask'],
  ['logs', 'log', 'output', 'tail'],
  ['accept', 'approve', 'allow'],
  ['decline', 'deny', 'reject', 'refuse'],
  ['edit', 'update', 'change', 'rename'],
  ['attach', 'connect', 'join', 'continue'],
];

/** The commands that people mean by verbs of gh, docker and kubectl without a group of commands. */
const withoutGroup: Readonly<Record<string, readonly string[]>> = {
  approve: ['approvals accept'],
  apply: ['config check', 'worktrees merge'],
  ask: ['run', 'sessions send'],
  chat: ['run', 'sessions attach'],
  checkout: ['worktrees create'],
  continue: ['run', 'sessions attach', 'sessions resume'],
  create: ['sessions create', 'worktrees create', 'teams create', 'tokens create'],
  delete: ['worktrees cleanup', 'teams delete', 'queue remove', 'tokens revoke'],
  deny: ['approvals decline'],
  describe: ['sessions show', 'processes show', 'worktrees show', 'teams show'],
  down: ['stop'],
  exec: ['processes run', 'sessions send'],
  follow: ['events tail', 'sessions attach'],
  get: ['sessions list', 'sessions show', 'processes list', 'worktrees list'],
  init: ['serve', 'doctor', 'fleet init'],
  inspect: ['sessions show', 'processes show', 'worktrees show', 'teams show'],
  kill: ['processes stop', 'sessions interrupt'],
  log: ['processes logs', 'service logs', 'events tail'],
  new: ['run', 'sessions create'],
  prompt: ['run', 'sessions send'],
  reject: ['approvals decline'],
  remove: ['worktrees cleanup', 'teams delete', 'queue remove', 'tokens revoke'],
  restart: ['processes restart', 'stop', 'serve'],
  rm: ['worktrees cleanup', 'teams delete', 'queue remove', 'tokens revoke'],
  show: ['sessions show', 'processes show', 'worktrees show', 'teams show'],
  start: ['serve', 'service install', 'run'],
  up: ['serve', 'service install'],
};

/** The options that people mean by other names, with an example. */
const meantOptions: Readonly<Record<string, readonly [option: string, example: string]>> = {
  '--in': ['--at', '--at +5m'],
};

/** An error about an unknown option, which names the option of the command that may be meant instead of a similar one. */
export function withMeantOption(text: string, { options }: Pick<Command, 'options'>): string {
  const [, unknown = ''] = /unknown option '(--[\w-]+)'/.exec(text) ?? [];
  const [meant, example] = ownEntry(meantOptions, unknown) ?? [];
  if (meant === undefined || options.every(({ long }) => long !== meant)) return text;
  return `unknown option '${unknown}' (did you mean ${example}?)`;
}

const MAX_SUGGESTIONS = 7;

/** The error for a command that does not exist: it names those that may be meant, across groups and verbs. */
export function unknownCommand(
  above: readonly string[],
  [word = '', ...rest]: readonly string[],
): AppError {
  const meant = meantBy(above, word, rest).slice(0, MAX_SUGGESTIONS);
  const names = meant.map((path) => `cadre ${path}`);
  const last = names.pop();
  const hint =
    last === undefined
      ? `see ${['cadre', ...above, '--help'].join(' ')}`
      : `did you mean ${names.length > 0 ? `${names.join(', ')} or ` : ''}${last}?`;
  return usageError(`unknown command "${[...above, word].join(' ')}": ${hint}`);
}

/** The paths of the commands that may be meant, the likeliest first. */
function meantBy(above: readonly string[], word: string, rest: readonly string[]): string[] {
  const paths = Object.keys(examples);
  const groups = [...new Set(paths.map((path) => path.split(' ')[0] ?? ''))];
  const [group] = above.length > 0 ? above : alike(groups, word, (one) => one);
  const verb = above.length > 0 ? word : rest[0];
  if (above.length === 0 && group === undefined && verb !== undefined) {
    // The verb comes first in kubectl: `get sessions`.
    const [later] = alike(groups, verb, (one) => one);
    const found = near(
      paths.filter((path) => path.startsWith(`${later} `)),
      word,
    );
    if (found.length > 0) return found;
  }
  if (above.length === 0 && Object.hasOwn(withoutGroup, word))
    return [...(withoutGroup[word] ?? [])];
  const ofGroup = paths.filter((path) => path === group || path.startsWith(`${group} `));
  const within = verb === undefined ? [] : near(ofGroup, verb);
  if (within.length > 0) return within;
  const elsewhere = paths.filter((path) => meanSame(lastOf(path), word));
  const exactly = elsewhere.filter((path) => lastOf(path) === word);
  if (exactly.length > 0) return exactly.toSorted((a, b) => depthOf(a) - depthOf(b));
  if (above.length === 0 && group !== undefined) return ofGroup.length === 1 ? ofGroup : [group];
  return elsewhere;
}

/** The path with this verb, else those whose verb means the same, else those that are spelled nearly like it. */
function near(paths: readonly string[], verb: string): string[] {
  const exactly = paths.filter((path) => lastOf(path) === verb);
  if (exactly.length > 0) return shallowest(exactly);
  const same = paths.filter((path) => meanSame(lastOf(path), verb));
  return shallowest(same.length > 0 ? same : alike(paths, verb, lastOf).slice(0, 2));
}

/** Returns the paths with the fewest words: `sessions list`, and not `sessions import list`. */
function shallowest(paths: readonly string[]): string[] {
  const least = Math.min(...paths.map(depthOf));
  return paths.filter((path) => depthOf(path) === least);
}

function depthOf(path: string): number {
  return path.split(' ').length;
}

/** Finds similar words. The first letter has to match, because a short word is similar to too many words. */
function alike(all: readonly string[], word: string, textOf: (one: string) => string): string[] {
  return nearest(all, word, textOf).filter((one) => textOf(one)[0] === word[0]);
}

function meanSame(one: string, other: string): boolean {
  return one === other || synonyms.some((group) => group.includes(one) && group.includes(other));
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf(' ') + 1);
}
