import { z } from 'zod';
import { component, flag, nullableText, nullableTime, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

const seq = z.int().min(0);

const hookFailure = component(
  'HookFailure',
  'The reason why the next event of a hook has not been delivered.',
  {
    event_seq: seq.nullable().meta({
      description:
        'Sequence number of the event that was not delivered. Null if the log cannot be read.',
    }),
    since: timestamp.describe('Time of the first failure for this event (Unix ms).'),
    attempts: z.int().describe('Number of attempts.'),
    error: text('Last error.'),
    retry_at: timestamp.describe('Time of the next attempt (Unix ms).'),
  },
);

const hookGap = component(
  'HookGap',
  'Events that retention deleted before the hook received them. Some of them may have matched the hook. The record describes the latest gap.',
  {
    after_seq: seq.describe('Sequence number of the last event handled before the gap.'),
    trimmed_seq: seq.describe('Highest sequence number that was deleted.'),
    at: timestamp.describe('Time at which the gap was detected (Unix ms).'),
    times: z.int().describe('Number of such gaps so far.'),
  },
);

export const hook = component(
  'Hook',
  'A command or URL that receives events in order, each at least once.',
  {
    name: z.string(),
    state: z.enum(['idle', 'delivering', 'failing', 'off', 'broken']).meta({
      description:
        'State of the hook. `idle`: all events are delivered. `delivering`: events are pending. `failing`: an event failed and is retried later. `off`: the hook is not enabled. `broken`: the configuration of the hook is invalid; see `problem`.',
    }),
    problem: nullableText(
      'Error in the configuration of the hook. Null if the configuration is valid.',
    ),
    kinds: z.array(z.string()).describe('Event kinds, as in the configuration.'),
    scope: component(
      'HookScope',
      'The only session, team, process or worktree whose events a hook receives.',
      { type: z.enum(['session', 'team', 'process', 'worktree']), id: z.string() },
    )
      .nullable()
      .describe('Scope of the events. Null for events of the whole runtime.'),
    target: text(
      '`command`, or the origin of the URL. The rest of the URL is not shown because it may be a secret.',
    ),
    links: flag('Whether events contain links that answer approvals.'),
    cursor: seq.describe('Sequence number up to which all events are handled.'),
    waiting: z.int().describe('Number of pending events, counted up to 1000.'),
    waiting_since: nullableTime(
      'Time of the oldest pending event (Unix ms). Null if none is pending.',
    ),
    delivered: z.int().describe('Total number of delivered events.'),
    delivered_at: nullableTime(
      'Time of the last delivery (Unix ms). Null before the first delivery.',
    ),
    failure: hookFailure.nullable(),
    gap: hookGap.nullable(),
    slowed_since: nullableTime(
      'Time since which deliveries are limited to one batch per second (Unix ms), because new events match as fast as the hook receives them. A hook whose effects cause such events triggers itself. Null if deliveries are not limited.',
    ),
  },
);
export type Hook = z.output<typeof hook>;

const nameParam = { hook_name: text('Name of the hook.') };

export const listHooks = endpoint('GET /v1/hooks', {
  summary: 'List the hooks of the configuration and their delivery state',
  response: z.array(hook),
});

export const hookTest = component('HookTest', 'The result of a hook test.', {
  ok: z.boolean(),
  error: nullableText('Error. Null if the test succeeded.'),
  elapsed_ms: z.number(),
  event: z.record(z.string(), z.unknown()).describe('Event that was sent.'),
});
export type HookTest = z.output<typeof hookTest>;

export const testHook = endpoint('POST /v1/hooks/{hook_name}/test', {
  summary:
    'Send a hook an example event of its first kind, marked with `test: true`; its position in the log does not change',
  params: nameParam,
  response: hookTest,
  errors: ['conflict'],
});

export const hookSkip = component('HookSkip', 'The events that a hook skipped.', {
  name: z.string(),
  after_seq: seq.describe('Sequence number of the last event handled before the skip.'),
  up_to_seq: seq.describe(
    'Sequence number of the last skipped event. Equal to `after_seq` if nothing was pending.',
  ),
});
export type HookSkip = z.output<typeof hookSkip>;

export const skipHook = endpoint('POST /v1/hooks/{hook_name}/skip', {
  summary: 'Skip the event that a hook failed to deliver, or all pending events',
  params: nameParam,
  body: z.strictObject({
    event_seq: seq.nullish().meta({
      description:
        'Sequence number of the event to skip. The server refuses the request if the next event of the hook is another event. Default: the next event.',
    }),
    all: z.boolean().nullish().describe('Whether to skip all events up to now. Default: false.'),
  }),
  response: hookSkip,
  errors: ['conflict'],
});

export const approvalLink = component('ApprovalLink', 'A link that can answer one approval once.', {
  id: text(
    'Id of the link. If the approval is answered with the link, `decided_by` contains this id.',
  ),
  url: text(
    'URL of a page that accepts or declines the approval. Anyone who has the URL can answer the approval once.',
  ),
  expires_at: timestamp,
});
export type ApprovalLink = z.output<typeof approvalLink>;

export const linkApproval = endpoint(
  'POST /v1/sessions/{session_id}/approvals/{approval_id}/link',
  {
    summary: 'Create a link that answers this approval once; accepts no Idempotency-Key',
    params: {
      session_id: text('Session id.'),
      approval_id: text('Approval id.'),
    },
    body: z.strictObject({
      expires_in_ms: z.int().min(1000).max(604_800_000).nullish().meta({
        description:
          'Lifetime of the link in milliseconds. Default: `approvals.link_expires_ms` of the configuration.',
      }),
    }),
    secret: true,
    response: approvalLink,
    errors: ['approval_resolved'],
  },
);
