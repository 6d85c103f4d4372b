import { z } from 'zod';
import { pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { providerId } from './provider-kinds.ts';
import { sessionParam } from './sessions.ts';

export const approvalStatus = z.enum(['pending', 'accepted', 'declined', 'expired', 'cancelled']);

export const question = z
  .looseObject({
    id: z.string().describe('Its name in the answers; its text and its heading name it, too.'),
    question: z.string(),
    header: z.string().nullable(),
    options: z.array(z.looseObject({ label: z.string(), description: z.string().nullable() })),
    free: z.boolean().describe('Whether another text than an option is taken.'),
    multiple: z.boolean().describe('Whether several answers are taken.'),
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
    request: z.unknown().describe('What the agent asked, word for word.'),
    subject: z
      .unknown()
      .describe(
        'All that it would do: requests with equal subjects are the same. Null where the agent does not tell that ' +
          'exactly: accepted while the agent is away, it is asked for again.',
      ),
    questions: z
      .array(question)
      .nullish()
      .describe(
        'What has to be answered to accept a question; null where the agent does not say it in parts.',
      ),
    answers: z.record(z.string(), z.array(z.string())).nullable(),
    held: z
      .boolean()
      .describe(
        'Accepted while no agent was there to hear of it; false again once its turn goes on or has ended.',
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
    description: 'What an agent asked for permission for, and what was answered.',
  });
export type Approval = z.output<typeof approval>;

export const decideApproval = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/approvals/{approval_id}',
  summary: 'Answer an approval, for this once; the first answer wins',
  params: { ...sessionParam, approval_id: z.string().describe('The approval.') },
  body: z.strictObject({
    decision: z.enum(['accept', 'accepted', 'decline', 'declined', 'reject', 'rejected']),
    reason: z.string().max(2000).nullish(),
    answers: z
      .record(z.string(), z.array(z.string()))
      .nullish()
      .describe(
        'To accept a question: what is answered, by the id, text or heading of each of its questions. Each that is ' +
          'required has to be answered, by one text or more; other names are refused.',
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
  summary: 'One inbox over all sessions, newest first',
  query: {
    status: approvalStatus.default('pending').describe('Only approvals with this status.'),
    session_id: z.string().optional().describe('Only approvals of this session.'),
    ...pageQuery,
  },
  response: z.array(approval),
  errors: ['not_found'],
});
