import { type Approval, approvalStatus } from '../../../api/approvals.ts';
import { endpoints } from '../../../api/index.ts';
import type { Client } from '../../../client/client.ts';
import { deciderText } from '../../../core/lib/decider-text.ts';
import { filledFields } from '../../../core/lib/filled-fields.ts';
import { approvalText } from '../../terminal/approval-text.ts';
import {
  commandGroup,
  endpointCommand,
  type OptionParameter,
  type Reading,
  type Register,
} from '../endpoint-command.ts';
import { idArgument, matches, onlyOne } from '../find.ts';
import type { Layout } from '../layout.ts';
import { milliseconds } from '../milliseconds.ts';
import { approvals } from '../nouns.ts';
import { asRecord } from '../output-options.ts';
import { ago, details, listOf, shortId } from '../output.ts';
import { sessionAs } from '../parameters.ts';
import { confirmUndescribed } from '../undescribed.ts';
import { clientAction, type CommandContext } from '../world.ts';
import { approvalRuleCommands } from './approval-rules.ts';

const approvalArgument = idArgument('approval');

/** `cadre approvals …`: one inbox over all sessions. */
export const approvalCommands = commandGroup(
  'approvals',
  'Manage approval requests of agents, and approval rules',
  [
    endpointCommand({
      name: 'list',
      description: 'List approval requests, newest first',
      endpoint: endpoints.listApprovals,
      options: [
        {
          flags: '-s, --status <status>',
          description: 'Show only approval requests with this status',
          field: 'status',
          default: 'pending',
        },
        sessionAs(
          'session_id',
          '--session <session>',
          'Show only approval requests of this session',
        ),
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
    (parent, world) =>
      asRecord(parent.command('show'))
        .description('Show an approval request and everything that the request would allow')
        .argument(...approvalArgument)
        .action(clientAction(world, show)),
    decisionCommand(
      'accept',
      'Accept an approval request, and optionally similar requests until the agent exits',
      [
        {
          flags: '--scope <scope>',
          description:
            'Scope of the acceptance: once (this request) or session (also similar requests until the agent exits)',
          field: 'scope',
          default: 'once',
        },
        {
          flags: '--undescribed',
          description:
            'Accept the request even if the agent did not describe the requested action completely',
        },
      ],
    ),
    decisionCommand('decline', 'Decline an approval request'),
    endpointCommand({
      name: 'link',
      description: 'Create a single-use link to a page on which you can answer an approval request',
      endpoint: endpoints.linkApproval,
      operands: [approvalOperand()],
      options: [
        {
          flags: '--expires <time>',
          description:
            'Lifetime of the link, such as 30m or 8h (default: approvals.link_expires_ms in the configuration)',
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
  options: readonly OptionParameter<typeof endpoints.decideApproval>[] = [],
): Register {
  return endpointCommand({
    name: decision,
    description,
    endpoint: endpoints.decideApproval,
    operands: [
      approvalOperand(async (approval, reading) => {
        if (decision === 'accept') await confirmUndescribed(approval, reading);
      }),
    ],
    options: [
      {
        flags: '--reason <text>',
        description: 'Reason for the decision, which cadre records and sends to the agent',
        field: 'reason',
      },
      ...options,
    ],
    fields: () => ({ decision }),
    print: ({ status, title, scope }) =>
      `${status}${scope === 'session' ? ' for the session' : ''}: ${title}\n`,
  });
}

/** The argument that names an approval. `check` is called with it before the request. */
function approvalOperand(check?: (approval: Approval, reading: Reading) => Promise<void>) {
  const [flags, description] = approvalArgument;
  return {
    flags,
    description,
    async read(end: string, reading: Reading) {
      const approval = await findApproval(reading.client, end);
      await check?.(approval, reading);
      return { approval_id: approval.id, session_id: approval.session_id };
    },
  };
}

async function show({ client, show, layout }: CommandContext, end: string): Promise<void> {
  const approval = await findApproval(client, end);
  show(approval, () => textOf(approval, layout));
}

/** All that an approval would allow, and what became of it. */
function textOf(approval: Approval, layout: Layout): string {
  const inSheet = ['title', 'kind', 'request', 'details', 'subject', 'questions', 'session_allows'];
  const { decided_by: by } = approval;
  const shown = { ...approval, decided_by: by === null ? null : deciderText(by) };
  const record = details(Object.fromEntries(filledFields(shown, inSheet)), { layout });
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
