import path from 'node:path';
import type { ApprovalRule, RuleDecision } from '../../../api/approval-rules.ts';
import { endpoints } from '../../../api/index.ts';
import { commandGroup, endpointCommand } from '../endpoint-command.ts';
import { ago, listOf, plain, shortId } from '../output.ts';
import { limit, rule } from '../parameters.ts';

/** `cadre approvals rules …`: what is decided without asking. */
export const approvalRuleCommands = commandGroup('rules', 'what is decided without asking you', [
  endpointCommand({
    name: 'list',
    description: 'list the rules, newest first',
    endpoint: endpoints.listApprovalRules,
    options: [limit],
    empty: 'no rules: every request of an agent is put to you',
    print: listOf<ApprovalRule>(['ID', 'EFFECT', 'AGE', 'BY', 'RULE'], (one, now) => [
      shortId(one.id),
      one.effect,
      ago(one.created_at, now),
      one.created_by,
      plain(conditionsOf(one) + refusalOf(one)),
    ]),
  }),
  endpointCommand({
    name: 'add',
    description: 'add a rule: deny wins over ask, ask over allow',
    endpoint: endpoints.addApprovalRule,
    operands: [{ flags: '<effect>', description: 'what becomes of a request', field: 'effect' }],
    options: [
      {
        flags: '--command <words>',
        description: 'of one simple command: "git log **"; * is a word, ** at the end all others',
        field: 'command',
      },
      {
        flags: '--path <path>',
        description: 'of all changed files: "src/**"; relative to the directory of the session',
        field: 'path',
      },
      { flags: '--tool <name>', description: 'of this tool, as its agent names it', field: 'tool' },
      {
        flags: '--provider <provider>',
        description: 'of agents of this provider',
        field: 'provider',
      },
      {
        flags: '--directory <directory>',
        description: 'in this directory and below',
        read: (directory: string) => ({ directory: path.resolve(directory) }),
      },
      {
        flags: '--i-know',
        description: 'Allow a * behind a program that is not on the list of known safe ones',
        field: 'i_know',
      },
      {
        flags: '--reason <text>',
        description: 'why; an agent that is declined is told it',
        field: 'reason',
      },
    ],
    print: (added) => `${added.id}: ${plain(`${added.effect} ${conditionsOf(added)}`)}\n`,
  }),
  endpointCommand({
    name: 'remove',
    description: 'remove a rule',
    endpoint: endpoints.removeApprovalRule,
    operands: [rule],
    print: ({ id }) => `${id} is removed\n`,
  }),
  endpointCommand({
    name: 'test',
    description: 'say what the rules would decide; nothing is run',
    endpoint: endpoints.testApprovalRules,
    operands: [
      { flags: '[command]', description: 'the whole command, in quotes', field: 'command' },
    ],
    options: [
      { flags: '--path <path>', description: 'a file that would be changed', field: 'path' },
      { flags: '--tool <name>', description: 'the tool, as its agent names it', field: 'tool' },
      {
        flags: '--provider <provider>',
        description: 'the provider of the agent',
        field: 'provider',
      },
      {
        flags: '--cwd <directory>',
        description: 'where it would run (default: here)',
        read: (directory: string) => ({ cwd: path.resolve(directory) }),
        absent: ({ world }) => Promise.resolve({ cwd: world.cwd() }),
      },
    ],
    print: textOf,
  }),
]);

function textOf({ effect, rule: by, why }: RuleDecision): string {
  return `${effect}: ${plain(by ? `${by.id}, ${why}` : why)}\n`;
}

/** Why a rule of an earlier version does not decide as it was added, and what to do; empty if it does. */
function refusalOf({ id, refused }: ApprovalRule): string {
  return refused === null
    ? ''
    : ` (${refused}; remove it with cadre approvals rules remove ${shortId(id)})`;
}

/** What a rule is for, in one line. */
function conditionsOf(one: ApprovalRule): string {
  const conditions = (['command', 'path', 'tool', 'provider', 'directory'] as const).flatMap(
    (name) => {
      const value = one[name];
      return value === null ? [] : [`${name}: ${value}`];
    },
  );
  return conditions.join(', ');
}
