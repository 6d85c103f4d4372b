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
      description: 'List approval rules, newest first',
      endpoint: endpoints.listApprovalRules,
      options: [limit],
      empty: 'no approval rules: every approval request waits for your answer',
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
      description:
        'Add an approval rule (if several rules match a request, deny overrides ask, and ask overrides allow)',
      endpoint: endpoints.addApprovalRule,
      operands: [
        {
          flags: '<effect>',
          description: 'Decision of the rule about each matching approval request',
          field: 'effect',
        },
      ],
      options: [
        {
          flags: '--command <words>',
          description:
            'Match requests to run this command, such as "git log **" (* is one word; ** at the end is any number of words)',
          field: 'command',
        },
        {
          flags: '--path <path>',
          description:
            'Match requests to change only files at this path, such as "src/**" (relative to the session\'s directory)',
          field: 'path',
        },
        {
          flags: '--tool <name>',
          description: "Match requests to use the agent's tool with this name, such as WebFetch",
          field: 'tool',
        },
        {
          flags: '--provider <provider>',
          description: 'Match only requests from agents of this provider, such as claude',
          field: 'provider',
        },
        {
          flags: '--directory <directory>',
          description: 'Match only requests from sessions in this directory or its subdirectories',
          read: (directory: string) => ({ directory: path.resolve(directory) }),
        },
        {
          flags: '--i-know',
          description:
            'Add the rule even if * follows the name of a program that cadre does not know to be harmless',
          field: 'i_know',
        },
        {
          flags: '--reason <text>',
          description:
            'Reason for the decision (sent to the agent when the rule declines a request)',
          field: 'reason',
        },
      ],
      print: (added) =>
        `Added rule ${added.id}: ${plain(`${added.effect} ${conditionsOf(added)}`)}\n`,
    }),
    endpointCommand({
      name: 'remove',
      description: 'Remove an approval rule',
      endpoint: endpoints.removeApprovalRule,
      operands: [rule],
      print: ({ id }) => `Removed rule ${id}\n`,
    }),
    endpointCommand({
      name: 'test',
      description: 'Show how the approval rules would answer a request, without running a command',
      endpoint: endpoints.testApprovalRules,
      operands: [
        {
          flags: '[command]',
          description: 'Command line to test against the approval rules, in quotes',
          field: 'command',
        },
      ],
      options: [
        {
          flags: '--path <path>',
          description: 'Test a request to change this file',
          field: 'path',
        },
        {
          flags: '--tool <name>',
          description: "Test a request to use the agent's tool with this name, such as WebFetch",
          field: 'tool',
        },
        {
          flags: '--provider <provider>',
          description: 'Test a request from an agent of this provider',
          field: 'provider',
        },
        {
          flags: '--cwd <directory>',
          description: 'Working directory of the command to test (default: current directory)',
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
