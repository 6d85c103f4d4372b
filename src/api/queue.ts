import { z } from 'zod';
import { givenName, pageQuery, requestedTime, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { agentMode, inputItem, sessionParam, storedInputItem, turnStatus } from './sessions.ts';

/** The limits of the queue. */
export const queueLimits = {
  /** The maximum number of entries of one session. */
  entriesOfSession: 100,
  /** The maximum number of entries in all. */
  entries: 1000,
  /** The maximum size of the input of an entry as it is stored, in bytes of JSON; images count by their description. */
  inputBytes: 256 * 1024,
};

export const queueStatus = z
  .enum(['scheduled', 'waiting', 'running', 'held'])
  .describe(
    'scheduled: its time has not come. waiting: it is due, and becomes a turn once its session is free and nothing before it waits. running: its turn is accepted and has not ended. held: it becomes no turn until its hold ends.',
  );

const overlap = z
  .enum(['skip', 'queue'])
  .describe(
    'What happens to a run of a schedule that is due while the run before it has not ended. skip: it is skipped. queue: it follows that one; if one follows already, it is skipped.',
  );

/** Why something waits. */
export const hold = z
  .looseObject({
    code: z
      .string()
      .describe(
        'In snake_case: paused, session_closed or session_failed for an entry; paused, stopped or no_agent for a session; others may be added.',
      ),
    message: z.string().describe('The reason, for people.'),
    since: timestamp.nullable().describe('null: not known.'),
    until: timestamp.nullable().describe('When it ends by itself; null: it does not.'),
  })
  .meta({
    id: 'Hold',
    description: 'Why an entry of the queue, or all that a session has to do, waits.',
  });
export type Hold = z.output<typeof hold>;

const reason = z.string().max(2000).describe('Why it is there, for the record.');
const timeZone = z
  .string()
  .max(100)
  .describe('A time zone of the IANA database, such as Europe/Berlin.');
const cron = z
  .string()
  .max(200)
  .describe(
    'A cron expression of five fields: minute, hour, day of month, month, day of week; or a name such as @daily. It comes once a minute at most.',
  );

/** An entry as it is stored. */
export const storedQueueEntry = z
  .looseObject({
    id: z.string(),
    session_id: z.string(),
    name: z.string().nullable().describe('What people call it.'),
    reason: reason.nullable(),
    input: z.array(storedInputItem),
    permission_mode: z.string().nullable().describe("Of its turns; null: the session's."),
    agent_mode: z.string().nullable().describe("Of its turns; null: the session's."),
    model: z.string().nullable().describe("Of its turns; null: the session's."),
    thinking_effort: z.string().nullable().describe("Of its turns; null: the session's."),
    at: timestamp.nullable().describe('When its only turn is due; null: it has no such time.'),
    every: cron.nullable().describe('When its turns are due, in time_zone; null: it has one turn.'),
    time_zone: timeZone.nullable().describe('Of `every`; for `at`, the one in which it is shown.'),
    overlap,
    status: queueStatus,
    next_at: timestamp
      .nullable()
      .describe('When it is due next; null: it is due, it was the last time, or it is held.'),
    due_at: timestamp
      .nullable()
      .describe('Since when the run that waits or runs is due; null: there is none.'),
    again_at: timestamp
      .nullable()
      .describe('Since when the run is due that follows the one that runs; null: there is none.'),
    settled_until: timestamp
      .nullable()
      .describe('Of a schedule: every time up to here has become a run or was skipped.'),
    hold: hold.nullable(),
    turn_id: z.string().nullable().describe('The turn of the run that runs.'),
    last_turn_id: z.string().nullable().describe('The turn of the last run that has started.'),
    last_status: turnStatus.nullable().describe('How that turn ended; null: none has.'),
    runs: z.int().describe('How many of its turns have started.'),
    skipped: z.int().describe('How many of its runs were skipped.'),
    created_by: z.string().describe('The id of the token of the request.'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({
    id: 'StoredQueueEntry',
    description: 'An input that becomes a turn of a session later.',
  });
export type StoredQueueEntry = z.output<typeof storedQueueEntry>;

const queueEntry = storedQueueEntry
  .extend({
    position: z
      .int()
      .describe(
        'Its place among the entries of its session, from 1: of those that are due, the first becomes the next turn. A schedule goes behind all that waits when a run of it ends.',
      ),
    session_holds: z
      .array(hold)
      .describe(
        'Why nothing that waits for its session becomes a turn now; empty: nothing is in the way.',
      ),
  })
  .meta({
    id: 'QueueEntry',
    description: 'An entry of the queue, with its place and what holds its session.',
  });
export type QueueEntry = z.output<typeof queueEntry>;

const sessionQueue = z
  .looseObject({
    session_id: z.string(),
    holds: z
      .array(hold)
      .describe(
        'Why no entry becomes a turn now, though the session may be idle; empty: nothing is in the way.',
      ),
    entries: z.array(queueEntry).describe('In their order.'),
  })
  .meta({ id: 'SessionQueue', description: 'The queue of one session.' });
export type SessionQueue = z.output<typeof sessionQueue>;

const entryParam = { entry_id: z.string().describe('The entry of the queue.') };
const input = z
  .union([z.array(inputItem).min(1), inputItem])
  .describe('As of a turn: an array of items, or a single item.');
const settings = {
  permission_mode: z.string().min(1).nullish().describe('For its turns only.'),
  agent_mode: agentMode.describe("For its turns only: the agent's own mode; for agents of acp."),
  model: z.string().min(1).nullish().describe('For its turns only.'),
  thinking_effort: z.string().min(1).nullish().describe('For its turns only.'),
};
const times = {
  at: requestedTime.nullish().describe('When its turn is due. A time that is past is due at once.'),
  every: cron
    .nullish()
    .describe('When its turns are due, again and again; not together with `at`.'),
  time_zone: timeZone
    .nullish()
    .describe(
      "Of `every`, or in which `at` is shown; absent: the server's. Only with one of them.",
    ),
};

export const addToQueue = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/queue',
  summary:
    'Queue a turn: for when the session is free, for a time, or for every time of a schedule',
  params: sessionParam,
  body: z.strictObject({
    input,
    name: givenName(100).nullish().describe('What people call it.'),
    reason: reason.nullish(),
    ...times,
    overlap: overlap.nullish().describe('Of a schedule; absent: skip.'),
    ...settings,
  }),
  bodyLimit: 8 * 1024 * 1024,
  response: queueEntry,
  errors: ['not_found', 'session_closed', 'session_failed', 'provider_unavailable', 'too_many'],
});

export const getSessionQueue = endpoint({
  method: 'GET',
  path: '/v1/sessions/{session_id}/queue',
  summary: 'The queue of a session, in its order',
  params: sessionParam,
  response: sessionQueue,
  errors: ['not_found'],
});

export const pauseSessionQueue = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/queue/pause',
  summary:
    'Let nothing that waits for a session become a turn, until it is resumed; a running turn goes on',
  params: sessionParam,
  body: z.strictObject({
    reason: reason.nullish(),
    until: requestedTime.nullish().describe('When the pause ends by itself; absent: it does not.'),
  }),
  response: sessionQueue,
  errors: ['not_found', 'session_closed'],
});

export const resumeSessionQueue = endpoint({
  method: 'POST',
  path: '/v1/sessions/{session_id}/queue/resume',
  summary: 'End the pause of a session, also the one that an interrupt has begun',
  params: sessionParam,
  body: z.strictObject({}),
  response: sessionQueue,
  errors: ['not_found', 'session_closed'],
});

export const listQueue = endpoint({
  method: 'GET',
  path: '/v1/queue',
  summary: 'The entries of the queues of all sessions, newest first',
  query: {
    session_id: z.string().optional().describe('Only entries of this session.'),
    status: queueStatus.optional().describe('Only entries with this status.'),
    ...pageQuery,
  },
  response: z.array(queueEntry),
  errors: ['not_found'],
});

export const getQueueEntry = endpoint({
  method: 'GET',
  path: '/v1/queue/{entry_id}',
  summary: 'One entry of the queue',
  params: entryParam,
  response: queueEntry,
  errors: ['not_found'],
});

export const editQueueEntry = endpoint({
  method: 'PATCH',
  path: '/v1/queue/{entry_id}',
  summary: 'Change an entry of the queue; a field that is absent stays as it is',
  params: entryParam,
  body: z.strictObject({
    input: input.optional(),
    name: givenName(100).nullish().describe('What people call it.'),
    reason: reason.nullish(),
    ...times,
    at: requestedTime.nullish().describe('When its turn is due; null: now. It replaces `every`.'),
    every: cron.nullish().describe('When its turns are due; it replaces `at`.'),
    overlap: overlap.optional(),
    ...settings,
  }),
  bodyLimit: 8 * 1024 * 1024,
  response: queueEntry,
  errors: ['not_found', 'conflict', 'provider_unavailable'],
});

export const moveQueueEntry = endpoint({
  method: 'POST',
  path: '/v1/queue/{entry_id}/move',
  summary: 'Give an entry another place in the queue of its session',
  params: entryParam,
  body: z
    .strictObject({
      before: z.string().nullish().describe('The entry before which it goes.'),
      to: z
        .enum(['first', 'last'])
        .nullish()
        .describe('Before or behind all others; absent, without before: last.'),
    })
    .refine(({ before, to }) => (before ?? null) === null || (to ?? null) === null, {
      error: 'has both before and to: give one',
    }),
  response: sessionQueue,
  errors: ['not_found'],
});

export const pauseQueueEntry = endpoint({
  method: 'POST',
  path: '/v1/queue/{entry_id}/pause',
  summary:
    'Let an entry of the queue become no turn until it is resumed; a turn of it that runs goes on',
  params: entryParam,
  body: z.strictObject({ reason: reason.nullish() }),
  response: queueEntry,
  errors: ['not_found', 'conflict'],
});

export const resumeQueueEntry = endpoint({
  method: 'POST',
  path: '/v1/queue/{entry_id}/resume',
  summary: 'End the pause of an entry; what a schedule has missed meanwhile is skipped',
  params: entryParam,
  body: z.strictObject({}),
  response: queueEntry,
  errors: ['not_found', 'session_closed', 'session_failed'],
});

export const dropQueueEntry = endpoint({
  method: 'DELETE',
  path: '/v1/queue/{entry_id}',
  summary: 'Take an entry out of the queue; a turn of a schedule that runs goes on',
  params: entryParam,
  response: queueEntry,
  errors: ['not_found', 'conflict'],
});

export const queueDiagnostics = z
  .looseObject({
    entries: z.record(z.string(), z.int()).describe('The number of entries, by status.'),
    sessions_held: z.int().describe('The sessions of which nothing that waits becomes a turn.'),
    next_at: timestamp.nullable().describe('When the next entry is due; null: none is scheduled.'),
  })
  .meta({ id: 'QueueDiagnostics', description: 'What waits in the queues of all sessions.' });
export type QueueDiagnostics = z.output<typeof queueDiagnostics>;
