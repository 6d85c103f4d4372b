import { type Approval, approvalStatus } from '../../../api/approvals.ts';
import { endpoints } from '../../../api/index.ts';
import type { Client } from '../../../client/client.ts';
import { deciderText } from '../../../core/lib/decider-text.ts';
import { filledFields } from '../../../core/lib/filled-fields.ts';
import { approvalText } from '../../terminal/approval-text.ts';
import { clientCommand, commandGroup, type Register } from '../command.ts';
import { endpointCommand, type EndpointParameter, type Reading } from '../endpoint-command.ts';
import { idArgument, matches, onlyOne } from '../find.ts';
import type { Layout } from '../layout.ts';
import { milliseconds } from '../option-values.ts';
import { approvals } from '../record-kinds.ts';
import { recordOptions } from '../output-options.ts';
import { ago, details, listOf, shortId, plain } from '../output.ts';
import { limit, rule, sessionAs, unsent } from '../parameters.ts';
import { usageError } from '../../../api/errors.ts';
import {
  ARGUMENTS_MISSING,
  CONFIRMATION,
  needsConfirmation,
} from '../../../core/lib/arguments-missing.ts';
import path from 'node:path';
import type { ApprovalRule, RuleDecision } from '../../../api/approval-rules.ts';

const approvalRuleCommands = commandGroup('rules', 'Manage rules that answer approval requests', [
  endpointCommand({
    name: 'list',
    description: 'List approval rules, newest first',
    endpoint: endpoints.listApprovalRules,
    parameters: [limit],
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
    parameters: [
      '<effect>  Decision of the rule about each matching approval request',
      '--command <words>  Match requests to run this command, such as "git log **" (* is one word; ** at the end is any number of words)',
      '--path <path>  Match requests to change only files at this path, such as "src/**" (relative to the session\'s directory)',
      "--tool <name>  Match requests to use the agent's tool with this name, such as WebFetch",
      '--provider <provider>  Match only requests from agents of this provider, such as claude',
      {
        line: '--directory <directory>  Match only requests from sessions in this directory or its subdirectories',
        read: (directory: string) => ({ directory: path.resolve(directory) }),
      },
      '--i-know  Add the rule even if * follows the name of a program that cadre does not know to be harmless',
      '--reason <text>  Reason for the decision (sent to the agent when the rule declines a request)',
    ],
    print: (added) =>
      `Added rule ${added.id}: ${plain(`${added.effect} ${conditionsOf(added)}`)}\n`,
  }),
  endpointCommand({
    name: 'remove',
    description: 'Remove an approval rule',
    endpoint: endpoints.removeApprovalRule,
    parameters: [rule],
    print: ({ id }) => `Removed rule ${id}\n`,
  }),
  endpointCommand({
    name: 'test',
    description: 'Show how the approval rules would answer a request, without running a command',
    endpoint: endpoints.testApprovalRules,
    parameters: [
      '[command]  Command line to test against the approval rules, in quotes',
      '--path <path>  Check whether the approval rules allow a change of this file',
      "--tool <name>  Check whether the approval rules allow the agent's tool with this name, such as WebFetch",
      '--provider <provider>  Assume that an agent of this provider sends the request',
      {
        line: '--cwd <directory>  Working directory of the command to test (default: current directory)',
        read: (directory: string) => ({ cwd: path.resolve(directory) }),
        absent: ({ io }) => Promise.resolve({ cwd: io.cwd() }),
      },
    ],
    print: decisionText,
  }),
]);

function decisionText({ effect, rule: by, why }: RuleDecision): string {
  return `${effect}: ${plain(by ? `${by.id}, ${why}` : why)}\n`;
}

/** Why a rule of an earlier version does not decide as it was added, and what to do; empty if it does. */
function refusalOf({ id, refused }: ApprovalRule): string {
  return refused === null
    ? ''
    : ` (${refused}; remove it with cadre approvals rules remove ${shortId(id)})`;
}

function conditionsOf(one: ApprovalRule): string {
  const conditions = (['command', 'path', 'tool', 'provider', 'directory'] as const).flatMap(
    (name) => {
      const value = one[name];
      return value === null ? [] : [`${name}: ${value}`];
    },
  );
  return conditions.join(', ');
}

const approvalArgument = idArgument('approval');

export const approvalCommands = commandGroup(
  'approvals',
  'Manage approval requests of agents, and approval rules',
  [
    endpointCommand({
      name: 'list',
      description: 'List approval requests, newest first',
      endpoint: endpoints.listApprovals,
      parameters: [
        {
          line: '-s, --status <status>  Show only approval requests with this status',
          default: 'pending',
        },
        sessionAs('session_id', '--session <session>  Show only approval requests of this session'),
      ],
      empty: 'no approval requests: an agent sends a request when an action requires your approval',
      print: listOf<Approval>(['ID', 'SESSION', 'KIND', 'STATUS', 'AGE', 'TITLE'], (one, now) => [
        shortId(one.id),
        shortId(one.session_id),
        one.kind,
        one.status,
        ago(one.created_at, now),
        one.title,
      ]),
    }),
    clientCommand({
      name: 'show',
      description: 'Show an approval request and everything that the request would allow',
      parameters: [...recordOptions, approvalArgument],
      async run({ client, show, layout }, end: string) {
        const approval = await findApproval(client, end);
        show(approval, () => textOf(approval, layout));
      },
    }),
    decisionCommand('accept', 'Accept an approval request, once or for the rest of the session', [
      {
        line: '--scope <scope>  Scope of the acceptance: once (only this request) or session (also the later requests that cadre approvals show describes)',
        default: 'once',
      },
      unsent(
        '--undescribed  Accept the request even if the agent did not describe the requested action completely',
      ),
    ]),
    decisionCommand('decline', 'Decline an approval request'),
    endpointCommand({
      name: 'link',
      description: 'Create a single-use link to a page on which you can answer an approval request',
      endpoint: endpoints.linkApproval,
      parameters: [
        approvalOperand(),
        {
          line: '--expires <time>  Lifetime of the link, such as 30m or 8h (default: approvals.link_expires_ms in the configuration)',
          parse: milliseconds,
          field: 'expires_in_ms',
        },
      ],
      print: ({ url }) => `${url}\n`,
    }),
    approvalRuleCommands,
  ],
);

function decisionCommand(
  decision: 'accept' | 'decline',
  description: string,
  options: readonly EndpointParameter<typeof endpoints.decideApproval>[] = [],
): Register {
  return endpointCommand({
    name: decision,
    description,
    endpoint: endpoints.decideApproval,
    parameters: [
      approvalOperand(async (approval, reading) => {
        if (decision === 'accept') await confirmUndescribed(approval, reading);
      }),
      '--reason <text>  Reason for the decision, which cadre records and sends to the agent',
      ...options,
    ],
    fields: () => ({ decision }),
    print: ({ status, title, scope }) =>
      `${status}${scope === 'session' ? ' for the session' : ''}: ${title}\n`,
  });
}

/** The argument that names an approval. `check` is called with it before the request. */
function approvalOperand(check?: (approval: Approval, reading: Reading) => Promise<void>) {
  return {
    line: approvalArgument,
    async read(end: string, reading: Reading) {
      const approval = await findApproval(reading.client, end);
      await check?.(approval, reading);
      return { approval_id: approval.id, session_id: approval.session_id };
    },
  };
}

/** All that an approval would allow, and what became of it. */
function textOf(approval: Approval, layout: Layout): string {
  const shownAbove = [
    'title',
    'kind',
    'request',
    'details',
    'subject',
    'questions',
    'session_allows',
  ];
  const { decided_by: by } = approval;
  const shown = { ...approval, decided_by: by === null ? null : deciderText(by) };
  const record = details(Object.fromEntries(filledFields(shown, shownAbove)), { layout });
  return `${approvalText(approval, layout).join('\n')}\n\n${record}`;
}

/** An approval by its id, or the end of it. Looks through the pending ones first, then through each other status. */
async function findApproval(client: Client, end: string): Promise<Approval> {
  for (const status of approvalStatus.options) {
    const found = await matches(approvals, client, end, status);
    if (found.length > 0) return onlyOne(approvals, found, end);
  }
  return onlyOne(approvals, [], end);
}

/**
 * Confirms the acceptance of a request that does not describe everything that it would do: by its flag, else by the word
 * that somebody types at the terminal. Throws `usage` without both.
 */
async function confirmUndescribed(
  approval: Approval,
  { io, global, options }: Pick<Reading, 'io' | 'global' | 'options'>,
): Promise<void> {
  if (approval.status !== 'pending' || !needsConfirmation(approval)) return;
  for (const gap of gapsOf(approval)) io.stderr.write(`cadre: ${gap}\n`);
  if (options.undescribed === true) return;
  const show = `see cadre approvals show ${shortId(approval.id)}`;
  const { terminalOf } = await import('../session/terminal.ts');
  const terminal = global.json ? null : terminalOf(io);
  if (!terminal)
    throw usageError(
      `the request was not accepted, because the agent did not describe the action completely: pass --undescribed to accept the request (${show})`,
    );
  const { readLine } = await import('../session/read-line.ts');
  terminal.output.write(`${plain(approval.title)}\n`);
  const question = `type ${CONFIRMATION} to accept it: `;
  const line = await readLine(terminal, question, io.interrupted());
  if (line?.trim() !== CONFIRMATION)
    throw usageError(
      `the request was not accepted, because you did not type ${CONFIRMATION} (${show})`,
    );
}

/** The parts that no detail of the approval shows. */
function gapsOf({ arguments_missing: isMissing, details }: Approval): string[] {
  const omitted = details.flatMap((part) =>
    part.type === 'omitted' ? [`not shown, because it is too large: ${plain(part.name)}`] : [],
  );
  return isMissing ? [ARGUMENTS_MISSING, ...omitted] : omitted;
}
