import { z } from 'zod';
import { pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { providerId } from './provider-kinds.ts';
import { sessionParam } from './sessions.ts';

export const approvalStatus = z.enum(['pending', 'accepted', 'declined', 'expired', 'cancelled']);

export const question = z
  .looseObject({
    id: z
      .string()
      .describe(
        'The key of its answers; the text or the heading of the question is accepted as the key, too.',
      ),
    question: z.string(),
    header: z.string().nullable(),
    options: z.array(z.looseObject({ label: z.string(), description: z.string().nullable() })),
    free: z.boolean().describe('Whether an answer may be a text that is not one of the options.'),
    multiple: z.boolean().describe('Whether several answers may be given.'),
    required: z.boolean(),
    type: z.enum(['text', 'number', 'integer']),
  })
  .meta({ id: 'Question', description: 'One question of an approval of the kind `question`.' });
export type Question = z.output<typeof question>;

const approvalCommand = z
  .looseObject({
    type: z.literal('command'),
    command: z.string().describe('The whole command, as a shell reads it.'),
    cwd: z
      .string()
      .nullable()
      .describe(
        'The directory it would run in: the one that the agent names, else that of the session; null if it is unknown.',
      ),
  })
  .meta({ id: 'ApprovalCommand', description: 'A command that would run.' });

const approvalDiff = z
  .looseObject({
    type: z.literal('diff'),
    path: z.string().describe('The file, as the agent names it.'),
    diff: z
      .string()
      .describe(
        'The whole change as a unified diff, from the content that the file had when the agent asked. A file that ' +
          'would be created or removed has `/dev/null` as its other name.',
      ),
  })
  .meta({ id: 'ApprovalDiff', description: 'A file that would change.' });

const approvalInput = z
  .looseObject({
    type: z.literal('input'),
    name: z.string(),
    value: z.unknown(),
  })
  .meta({ id: 'ApprovalInput', description: 'Anything else that belongs to the request.' });

const approvalOmitted = z
  .looseObject({
    type: z.literal('omitted'),
    name: z.string().describe('What is not here, in words.'),
    bytes: z.int().describe('Its size as JSON, in bytes.'),
  })
  .meta({
    id: 'ApprovalOmitted',
    description:
      'A part of the request that is not shown here, because it is too large. `request` has it, unless `name` says ' +
      'otherwise. A client must not let anybody accept such an approval without saying so.',
  });

export const approvalDetail = z
  .discriminatedUnion('type', [approvalCommand, approvalDiff, approvalInput, approvalOmitted])
  .meta({
    id: 'ApprovalDetail',
    description: 'One part of what a request would do, for people.',
    discriminator: {
      propertyName: 'type',
      mapping: {
        command: '#/components/schemas/ApprovalCommand',
        diff: '#/components/schemas/ApprovalDiff',
        input: '#/components/schemas/ApprovalInput',
        omitted: '#/components/schemas/ApprovalOmitted',
      },
    },
  });
export type ApprovalDetail = z.output<typeof approvalDetail>;

export const approvalScope = z.enum(['once', 'session']).meta({
  id: 'ApprovalScope',
  description:
    'What an acceptance is good for. `once`: this one request. `session`: also the requests that `session_allows` names, ' +
    'never beyond the end of the session. Agents of claude and codex keep it for as long as they run; cadre ends agents ' +
    'that are idle, and after that they ask again. For agents of acp cadre keeps it, for equal requests. If no agent ' +
    'runs to receive the acceptance, it is good once.',
});
export type ApprovalScope = z.output<typeof approvalScope>;

export const approval = z
  .looseObject({
    id: z.string(),
    session_id: z.string(),
    turn_id: z.string(),
    provider: providerId,
    kind: z
      .enum(['command', 'file_change', 'tool', 'question', 'budget'])
      .describe(
        'budget: no agent asks, but cadre, whether turns may go on although a budget is used up; its turn has ended.',
      ),
    title: z.string(),
    request: z.unknown().describe('The request as the agent sent it.'),
    details: z
      .array(approvalDetail)
      .describe(
        'All that the request would do, whole and for people, at most 12 MiB as JSON. Empty if the agent does not say.',
      ),
    scopes: z
      .array(approvalScope)
      .describe('What an acceptance may be good for. Empty if the agent offers only to decline.'),
    session_allows: z
      .string()
      .nullable()
      .describe(
        "What an acceptance for the session would allow, in the agent's words or by its rules; null if `scopes` does " +
          'not have `session`.',
      ),
    subject: z
      .unknown()
      .describe(
        'Everything that the request would do: two requests with equal subjects are the same request. Null if the ' +
          'agent does not describe it exactly, or it is larger than 1 MiB; if such an approval is accepted while no agent runs, the agent has ' +
          'to ask again.',
      ),
    arguments_missing: z
      .boolean()
      .optional()
      .describe(
        'True if the agent does not say what the request would do, beyond its title: a terminal, the screen and the page ' +
          'of a link then take a typed confirmation to accept it. Absent otherwise.',
      ),
    questions: z
      .array(question)
      .nullish()
      .describe(
        'The questions that have to be answered to accept an approval of the kind `question`; null if the agent does not list them.',
      ),
    answers: z.record(z.string(), z.array(z.string())).nullable(),
    held: z
      .boolean()
      .describe(
        'True if it was accepted while no agent was running to receive the decision; false again once its turn continues or has ended.',
      ),
    status: approvalStatus,
    decision: z.enum(['accept', 'decline']).nullable(),
    scope: approvalScope
      .nullable()
      .describe(
        'What the acceptance is good for; null if it was not accepted. `once` also if `session` was asked for while no ' +
          'agent was running.',
      ),
    decided_by: z
      .string()
      .nullable()
      .describe('The token of the person who decided, or the rule that did.'),
    reason: z.string().nullable(),
    expires_at: timestamp.nullable(),
    created_at: timestamp,
    resolved_at: timestamp.nullable(),
  })
  .meta({
    id: 'Approval',
    description: 'A request of an agent for permission, and the decision on it.',
  });
export type Approval = z.output<typeof approval>;

const approvalParams = {
  ...sessionParam,
  approval_id: z.string().describe('The approval.'),
};

export const decideApproval = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/approvals/{approval_id}',
  summary: 'Decide an approval; the first decision wins',
  params: approvalParams,
  body: z.strictObject({
    decision: z.enum(['accept', 'accepted', 'decline', 'declined', 'reject', 'rejected']),
    scope: approvalScope
      .nullish()
      .describe(
        'To accept: what the acceptance is good for, one of `scopes` of the approval; the default is `once`. A decision to decline is good once.',
      ),
    reason: z.string().max(2000).nullish(),
    answers: z
      .record(z.string(), z.array(z.string()))
      .nullish()
      .describe(
        'To accept a question: the answers to each of its questions, by the id, text or heading of the question. ' +
          'Each required question needs at least one answer; unknown keys are refused.',
      ),
  }),
  response: approval,
  errors: ['not_found', 'approval_resolved'],
});

export const getApproval = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/approvals/{approval_id}',
  summary: 'One approval, whole',
  params: approvalParams,
  response: approval,
  errors: ['not_found'],
});

export const listSessionApprovals = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/approvals',
  summary: 'The approvals of a session, newest first',
  params: sessionParam,
  query: {
    status: approvalStatus.optional().describe('Only approvals with this status.'),
    ...pageQuery,
  },
  response: z.array(approval),
  errors: ['not_found'],
});

export const listApprovals = endpoint({
  method: 'GET',
  path: '/v1/approvals',
  summary: 'The approvals of all sessions, newest first',
  query: {
    status: approvalStatus.default('pending').describe('Only approvals with this status.'),
    session_id: z.string().optional().describe('Only approvals of this session.'),
    ...pageQuery,
  },
  response: z.array(approval),
  errors: ['not_found'],
});
