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

export const approval = z
  .looseObject({
    id: z.string(),
    session_id: z.string(),
    turn_id: z.string(),
    provider: providerId,
    kind: z.enum(['command', 'file_change', 'tool', 'question']),
    title: z.string(),
    request: z.unknown().describe('The request as the agent sent it.'),
    subject: z
      .unknown()
      .describe(
        'Everything that the request would do: two requests with equal subjects are the same request. Null if the ' +
          'agent does not describe it exactly; if such an approval is accepted while no agent runs, the agent has ' +
          'to ask again.',
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
    decided_by: z.string().nullable(),
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

export const decideApproval = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/approvals/{approval_id}',
  summary: 'Decide an approval, for this one request; the first decision wins',
  params: { ...sessionParam, approval_id: z.string().describe('The approval.') },
  body: z.strictObject({
    decision: z.enum(['accept', 'accepted', 'decline', 'declined', 'reject', 'rejected']),
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
