import path from 'node:path';
import type { ApprovalRule, RuleDecision } from '../../../api/approval-rules.ts';
import { endpoints } from '../../../api/index.ts';
import { commandGroup, endpointCommand } from '../endpoint-command.ts';
import { ago, listOf, plain, shortId } from '../output.ts';
import { limit, rule } from '../parameters.ts';

/** `cadre approvals rules …`: what is decided without asking. */
export const approvalRuleCommands = commandGroup(
  'rules',
  'Manage rules that answer approval requests',
  [
    endpointCommand({
      name: 'list',
      description: 'List rules, newest first',
      endpoint: endpoints.listApprovalRules,
      options: [limit],
      empty: 'no rules: every approval request waits for your answer',
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
      description: 'Add a rule (deny takes precedence over ask, and ask over allow)',
      endpoint: endpoints.addApprovalRule,
      operands: [
        { flags: '<effect>', description: 'Effect on a request that matches', field: 'effect' },
      ],
      options: [
        {
          flags: '--command <words>',
          description:
            'Match requests to run a simple command, such as "git log **" (* is one word, ** at the end any number of words)',
          field: 'command',
        },
        {
          flags: '--path <path>',
          description:
            'Match requests that change only these files, such as "src/**" (relative to the session directory)',
          field: 'path',
        },
        {
          flags: '--tool <name>',
          description: 'Match requests to use the tool with this name (as the agent names it)',
          field: 'tool',
        },
        {
          flags: '--provider <provider>',
          description: 'Match requests of agents of this provider',
          field: 'provider',
        },
        {
          flags: '--directory <directory>',
          description: 'Match only requests of sessions in this directory and below it',
          read: (directory: string) => ({ directory: path.resolve(directory) }),
        },
        {
          flags: '--i-know',
          description: 'Allow a * after a program that is not on the list of known safe programs',
          field: 'i_know',
        },
        {
          flags: '--reason <text>',
          description:
            'Reason for the decision; the agent receives the reason when a request is declined',
          field: 'reason',
        },
      ],
      print: (added) =>
        `Added rule ${added.id}: ${plain(`${added.effect} ${conditionsOf(added)}`)}\n`,
    }),
    endpointCommand({
      name: 'remove',
      description: 'Remove a rule',
      endpoint: endpoints.removeApprovalRule,
      operands: [rule],
      print: ({ id }) => `Removed rule ${id}\n`,
    }),
    endpointCommand({
      name: 'test',
      description: 'Show what the rules would decide about a request (nothing is run)',
      endpoint: endpoints.testApprovalRules,
      operands: [
        { flags: '[command]', description: 'Complete command line, in quotes', field: 'command' },
      ],
      options: [
        { flags: '--path <path>', description: 'File that would be changed', field: 'path' },
        {
          flags: '--tool <name>',
          description: 'Name of the tool (as the agent names it)',
          field: 'tool',
        },
        {
          flags: '--provider <provider>',
          description: 'Provider of the agent',
          field: 'provider',
        },
        {
          flags: '--cwd <directory>',
          description: 'Directory in which the command would run (default: current directory)',
          read: (directory: string) => ({ cwd: path.resolve(directory) }),
          absent: ({ world }) => Promise.resolve({ cwd: world.cwd() }),
        },
      ],
      print: textOf,
    }),
  ],
);

function textOf({ effect, rule: by, why }: RuleDecision): string {
  return `${effect}: ${plain(by ? `${by.id}, ${why}` : why)}\n`;
}

/** Why a rule of an earlier version does not decide as it was added, and what to do; empty if it does. */
function refusalOf({ id, refused }: ApprovalRule): string {
  return refused === null
    ? ''
    : ` (${refused}; remove it with cadre approvals rules remove ${shortId(id)})`;
}

/** Returns one line of text about a rule. */
function conditionsOf(one: ApprovalRule): string {
  const conditions = (['command', 'path', 'tool', 'provider', 'directory'] as const).flatMap(
    (name) => {
      const value = one[name];
      return value === null ? [] : [`${name}: ${value}`];
    },
  );
  return conditions.join(', ');
}
