import { z } from 'zod';
import { timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';

const seq = z.int().min(0);

const hookFailure = z
  .looseObject({
    event_seq: seq
      .nullable()
      .describe('The event that it waits with; null: the log cannot be read.'),
    since: timestamp.describe('The first failure at this event.'),
    attempts: z.int().describe('How often it was tried.'),
    error: z.string().describe('What went wrong last.'),
    retry_at: timestamp.describe('When it is tried again.'),
  })
  .meta({ id: 'HookFailure', description: 'Why the next event of a hook was not delivered yet.' });

const hookGap = z
  .looseObject({
    after_seq: seq.describe('The last event that was dealt with before.'),
    trimmed_seq: seq.describe('The highest event that is gone.'),
    at: timestamp.describe('When it was noticed.'),
    times: z.int().describe('How many such gaps there were.'),
  })
  .meta({
    id: 'HookGap',
    description:
      'Retention took events before the hook was given them; some of them may have been for it. The latest such gap.',
  });

export const hook = z
  .looseObject({
    name: z.string(),
    state: z
      .enum(['idle', 'delivering', 'failing', 'off', 'broken'])
      .describe(
        'idle: it was given all there is. delivering: it is behind. failing: its event is tried again later. off: not enabled. broken: its configuration cannot work, see `problem`.',
      ),
    problem: z.string().nullable().describe('What to mend in its configuration.'),
    kinds: z.array(z.string()).describe('The kinds as the configuration names them.'),
    scope: z
      .looseObject({ type: z.enum(['session', 'team', 'process', 'worktree']), id: z.string() })
      .meta({ id: 'HookScope', description: 'The one thing of which a hook is told.' })
      .nullable()
      .describe('null: events of the whole runtime.'),
    target: z
      .string()
      .describe('`command`, or the origin of its URL; the rest may be a secret, and is not shown.'),
    links: z.boolean().describe('Whether it is given links that answer approvals.'),
    cursor: seq.describe('Every event up to this one is dealt with.'),
    waiting: z.int().describe('How many events wait for it; counted up to 1000.'),
    waiting_since: timestamp.nullable().describe('When the oldest of them happened.'),
    delivered: z.int().describe('How many events it was given in all.'),
    delivered_at: timestamp.nullable().describe('When it was given one last.'),
    failure: hookFailure.nullable(),
    gap: hookGap.nullable(),
    slowed_since: timestamp
      .nullable()
      .describe(
        'Not null: new events come as fast as it is given them, so it gets them together, once a second. If its own effects cause them, it triggers itself.',
      ),
  })
  .meta({
    id: 'Hook',
    description:
      'A command or an address that is told of events, in their order, each at least once.',
  });
export type Hook = z.output<typeof hook>;

const nameParam = { hook_name: z.string().describe('The hook.') };

export const listHooks = endpoint({
  method: 'GET',
  path: '/v1/hooks',
  summary: 'List the hooks of the configuration, with how far each has come',
  response: z.array(hook),
});

export const hookTest = z
  .looseObject({
    ok: z.boolean(),
    error: z.string().nullable().describe('What went wrong.'),
    elapsed_ms: z.number(),
    event: z.record(z.string(), z.unknown()).describe('What was sent.'),
  })
  .meta({ id: 'HookTest', description: 'What came of the test of a hook.' });
export type HookTest = z.output<typeof hookTest>;

export const testHook = endpoint({
  method: 'POST',
  path: '/v1/hooks/{hook_name}/test',
  summary:
    'Give a hook an example of its first kind at once, marked with `test: true`; its place in the log stays',
  params: nameParam,
  response: hookTest,
  errors: ['not_found', 'conflict'],
});

export const hookSkip = z
  .looseObject({
    name: z.string(),
    after_seq: seq.describe('The last event that was dealt with before.'),
    up_to_seq: seq.describe('The last event that is skipped; `after_seq` where nothing waits.'),
  })
  .meta({ id: 'HookSkip', description: 'What a hook is never given.' });
export type HookSkip = z.output<typeof hookSkip>;

export const skipHook = endpoint({
  method: 'POST',
  path: '/v1/hooks/{hook_name}/skip',
  summary: 'Have a hook never be given the event that it waits with, or all that wait',
  params: nameParam,
  body: z.strictObject({
    event_seq: seq
      .nullish()
      .describe('Only if the hook waits with this event; the default is whichever it waits with.'),
    all: z.boolean().nullish().describe('All that have happened up to now.'),
  }),
  response: hookSkip,
  errors: ['not_found', 'conflict'],
});

export const approvalLink = z
  .looseObject({
    id: z
      .string()
      .describe('Stands in `decided_by` of the approval if it was answered by this link.'),
    url: z
      .string()
      .describe('The page with the two buttons. Whoever has it can answer this approval, once.'),
    expires_at: timestamp,
  })
  .meta({
    id: 'ApprovalLink',
    description: 'A link that answers one approval, once, and nothing else.',
  });
export type ApprovalLink = z.output<typeof approvalLink>;

export const linkApproval = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/approvals/{approval_id}/link',
  summary: 'Make a link that answers this approval once; accepts no Idempotency-Key',
  params: {
    session_id: z.string().describe('The session.'),
    approval_id: z.string().describe('The approval.'),
  },
  body: z.strictObject({
    expires_in_ms: z
      .int()
      .min(1000)
      .max(604_800_000)
      .nullish()
      .describe('The default is `approvals.link_expires_ms` of the configuration.'),
  }),
  secret: true,
  response: approvalLink,
  errors: ['not_found', 'approval_resolved'],
});
