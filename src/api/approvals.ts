import { z } from 'zod';
import {
  component,
  flag,
  nullableText,
  nullableTime,
  pageQuery,
  text,
  timestamp,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { providerId } from './provider-kinds.ts';
import { sessionParam } from './sessions.ts';

export const approvalStatus = z.enum(['pending', 'accepted', 'declined', 'expired', 'cancelled']);

export const question = component('Question', 'A question of an approval of the kind `question`.', {
  id: text('Key of the answers. The text or heading of the question is accepted as a key too.'),
  question: text('Text of the question.'),
  header: nullableText('Heading of the question. Null without a heading.'),
  options: z
    .array(z.looseObject({ label: z.string(), description: z.string().nullable() }))
    .describe('Answers to choose from. Empty without choices.'),
  free: flag('Whether the answer may be a text that is not one of the options.'),
  multiple: flag('Whether several answers are allowed.'),
  required: flag('Whether the question must be answered to accept the approval.'),
  type: z.enum(['text', 'number', 'integer']).describe('Type of the answers.'),
});
export type Question = z.output<typeof question>;

const approvalCommand = component('ApprovalCommand', 'A command that would run.', {
  type: z.literal('command'),
  command: text('Complete command, as a shell reads it.'),
  cwd: nullableText(
    'Directory that the command would run in: the directory that the agent names, or else the directory of the session. Null if unknown.',
  ),
});

const approvalDiff = component('ApprovalDiff', 'A file that would change.', {
  type: z.literal('diff'),
  path: text('Path of the file, as the agent names it.'),
  diff: text(
    'Complete change as a unified diff against the content at the time of the request. A file that would be created or removed has `/dev/null` as its other name.',
  ),
});

const approvalInput = component('ApprovalInput', 'Another part of the request.', {
  type: z.literal('input'),
  name: z.string(),
  value: z.unknown(),
});

const approvalOmitted = component(
  'ApprovalOmitted',
  'A part of the request that is omitted because it is too large. `request` contains it, unless `name` says otherwise. A client must warn the user before such an approval is accepted.',
  {
    type: z.literal('omitted'),
    name: text('Description of the omitted part.'),
    bytes: z.int().describe('Size of the omitted part as JSON, in bytes.'),
  },
);

export const approvalDetail = z
  .discriminatedUnion('type', [approvalCommand, approvalDiff, approvalInput, approvalOmitted])
  .meta({
    id: 'ApprovalDetail',
    description: 'One part of the effect of a request, for users to read.',
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
    'Scope of an acceptance. `once`: this request only. `session`: also the requests that `session_allows` describes, until the session ends. Agents of claude and codex remember it while they run; cadre stops idle agents, and after that they request approval again. For agents of acp, cadre remembers it and applies it to equal requests. If no agent is running to receive the acceptance, the scope is `once`.',
});
export type ApprovalScope = z.output<typeof approvalScope>;

export const approval = component(
  'Approval',
  'A permission request of an agent, and the decision.',
  {
    id: z.string(),
    session_id: z.string(),
    turn_id: z.string(),
    provider: providerId,
    kind: z.enum(['command', 'file_change', 'tool', 'question', 'budget']).meta({
      description:
        'Kind of the request. `budget`: the request comes from cadre, not from an agent. It requests approval for further turns although a budget is used up; its own turn has ended.',
    }),
    title: text('Summary of the request in one line.'),
    request: z
      .unknown()
      .describe('Request as the agent sent it. Null if retention has deleted it.'),
    details: z.array(approvalDetail).meta({
      description:
        'Complete effect of the request, for users to read, at most 12 MiB as JSON. Empty if the agent does not report it, or retention has deleted it.',
    }),
    scopes: z
      .array(approvalScope)
      .describe('Possible scopes of an acceptance. Empty if the agent offers no way to accept.'),
    session_allows: nullableText(
      "Requests that an acceptance with the scope `session` would allow, in the agent's words or by its rules. Null if `scopes` does not contain `session`.",
    ),
    subject: z.unknown().meta({
      description:
        'Canonical description of the complete effect of the request. Requests with equal subjects are the same request. Null if the agent does not describe the request exactly, or the description is larger than 1 MiB. It is also null if retention has deleted it. If an approval without a subject is accepted while no agent is running, the agent must request approval again.',
    }),
    arguments_missing: z.boolean().optional().meta({
      description:
        'True if the agent reports only a title and not the effect of the request. Terminal prompts, the screen and approval links then require a typed confirmation to accept it. Absent otherwise.',
    }),
    questions: z.array(question).nullish().meta({
      description:
        'Questions to answer when accepting an approval of the kind `question`. Null if the agent does not list them, or retention has deleted them.',
    }),
    answers: z.record(z.string(), z.array(z.string())).nullable().meta({
      description: 'Answers of the user, by the id of the question. Null without answers.',
    }),
    held: flag(
      'Whether the approval was accepted while no agent was running to receive the decision. It becomes false when the turn continues or ends.',
    ),
    status: approvalStatus.describe(
      'Status of the approval. `expired`: nobody has decided in time. `cancelled`: the turn or the agent no longer waits for a decision.',
    ),
    decision: z.enum(['accept', 'decline']).nullable().meta({
      description: 'Decision. Null if nobody and no rule has decided.',
    }),
    scope: approvalScope.nullable().meta({
      description:
        'Scope of the acceptance. Null if the approval was not accepted. `once` if `session` was requested while no agent was running.',
    }),
    decided_by: nullableText(
      'Token of the user who decided, or the rule that decided. Null if nobody has decided.',
    ),
    reason: nullableText('Reason for the decision, or for the status. Null without a reason.'),
    expires_at: nullableTime('Time at which the approval expires (Unix ms). Null if it does not.'),
    created_at: timestamp,
    resolved_at: nullableTime('Time at which the approval ceased to be pending (Unix ms).'),
  },
);
export type Approval = z.output<typeof approval>;

const approvalParams = {
  ...sessionParam,
  approval_id: text('Approval id.'),
};

export const decideApproval = endpoint('POST /v1/sessions/{session_id}/approvals/{approval_id}', {
  summary: 'Accept or decline an approval; the first decision is final',
  params: approvalParams,
  body: z.strictObject({
    decision: z
      .enum(['accept', 'accepted', 'decline', 'declined', 'reject', 'rejected'])
      .describe('Decision. `accepted` means `accept`; the other values mean `decline`.'),
    scope: approvalScope.nullish().meta({
      description:
        'Scope of the acceptance: one of `scopes` of the approval. Default: `once`. A decline always applies once.',
    }),
    reason: z.string().max(2000).nullish().describe('Reason for the decision.'),
    answers: z.record(z.string(), z.array(z.string())).nullish().meta({
      description:
        'Answers for accepting a question, by the id, text or heading of each question. Each required question needs at least one answer. Unknown keys are refused.',
    }),
  }),
  response: approval,
  errors: ['approval_resolved'],
});

export const getApproval = endpoint('GET /v1/sessions/{session_id}/approvals/{approval_id}', {
  summary: 'Get an approval with all details',
  params: approvalParams,
  response: approval,
});

export const listSessionApprovals = endpoint('GET /v1/sessions/{session_id}/approvals', {
  summary: 'List the approvals of a session, newest first',
  params: sessionParam,
  query: {
    status: approvalStatus.optional().describe('Return only approvals with this status.'),
    ...pageQuery,
  },
  response: z.array(approval),
});

export const listApprovals = endpoint('GET /v1/approvals', {
  summary: 'List the approvals of all sessions, newest first',
  query: {
    status: approvalStatus.default('pending').describe('Return only approvals with this status.'),
    session_id: z.string().optional().describe('Return only approvals of this session.'),
    ...pageQuery,
  },
  response: z.array(approval),
  errors: ['not_found'],
});
