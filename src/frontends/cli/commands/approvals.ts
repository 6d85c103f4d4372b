import { type Approval, approvalStatus } from '../../../api/approvals.ts';
import { endpoints } from '../../../api/index.ts';
import type { Client } from '../../../client/client.ts';
import { ARGUMENTS_MISSING } from '../../../core/lib/arguments-missing.ts';
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
import { ago, details, listOf, plain, shortId } from '../output.ts';
import { sessionAs } from '../parameters.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';
import { approvalRuleCommands } from './approval-rules.ts';

const approvalArgument = idArgument('approval');

/** `cadre approvals …`: one inbox over all sessions. */
export const approvalCommands = commandGroup('approvals', 'Manage approval requests and rules', [
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
      sessionAs('session_id', '--session <session>', 'Show only approval requests of this session'),
    ],
    empty: 'no approval requests: requests of agents appear here',
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
  decisionCommand('accept', 'Accept an approval request, once or for the session', [
    {
      flags: '--scope <scope>',
      description: 'Scope of the approval (session: until the agent exits)',
      field: 'scope',
      default: 'once',
    },
  ]),
  decisionCommand('decline', 'Decline an approval request'),
  endpointCommand({
    name: 'link',
    description: 'Create a single-use link to a page that answers an approval request',
    endpoint: endpoints.linkApproval,
    operands: [approvalOperand()],
    options: [
      {
        flags: '--expires <time>',
        description: 'Lifetime of the link, such as 30m or 8h (default: approvals.link_expires_ms)',
        parse: milliseconds,
        field: 'expires_in_ms',
      },
    ],
    print: ({ url }) => `${url}\n`,
  }),
  approvalRuleCommands,
]);

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
      approvalOperand((approval, world) => {
        if (decision === 'accept') warnOfOmitted(approval, world);
      }),
    ],
    options: [
      {
        flags: '--reason <text>',
        description: 'Reason to record and to send to the agent',
        field: 'reason',
      },
      ...options,
    ],
    fields: () => ({ decision }),
    print: ({ status, title, scope }) =>
      `${status}${scope === 'session' ? ' for the session' : ''}: ${title}\n`,
  });
}

/** The argument that names an approval. `onFound` is called with it before the request. */
function approvalOperand(onFound: (approval: Approval, world: World) => void = () => undefined) {
  const [flags, description] = approvalArgument;
  return {
    flags,
    description,
    async read(end: string, { client, world }: Reading) {
      const approval = await findApproval(client, end);
      onFound(approval, world);
      return { approval_id: approval.id, session_id: approval.session_id };
    },
  };
}

/** Says what nobody can have read before, because it is in no detail of the approval. */
function warnOfOmitted(approval: Approval, { stderr }: World): void {
  const { details: parts, arguments_missing: isUnsaid } = approval;
  if (isUnsaid) stderr.write(`cadre: ${ARGUMENTS_MISSING}\n`);
  for (const part of parts)
    if (part.type === 'omitted')
      stderr.write(`cadre: not shown, because it is too large: ${plain(part.name)}\n`);
}

async function show({ client, show, layout }: CommandContext, end: string): Promise<void> {
  const approval = await findApproval(client, end);
  show(approval, () => textOf(approval, layout));
}

/** All that an approval would allow, and what became of it. */
function textOf(approval: Approval, layout: Layout): string {
  const inSheet = ['title', 'kind', 'request', 'details', 'subject', 'questions', 'session_allows'];
  const record = details(Object.fromEntries(filledFields(approval, inSheet)), { layout });
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
