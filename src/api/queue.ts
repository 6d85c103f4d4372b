import { z } from 'zod';
import {
  component,
  integer,
  nameOfLength,
  nullableText,
  nullableTime,
  optionalName,
  optionalText,
  pageQuery,
  requestedTime,
  text,
  timestamp,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { agentMode, sessionParam, turnStatus } from './sessions.ts';
import { inputItem, storedInputItem } from './input.ts';

export const queueLimits = {
  /** The maximum number of entries per session. */
  entriesOfSession: 100,
  /** The maximum number of entries of all sessions. */
  entries: 1000,
  /** The maximum size of the stored input of an entry, in bytes of JSON. Images count with their description only. */
  inputBytes: 256 * 1024,
};

export const queueStatus = z.enum(['scheduled', 'waiting', 'running', 'held']).meta({
  description:
    'Status of the queue entry. `scheduled`: the entry is not due yet. `waiting`: the entry is due, and becomes a turn when the session is idle and no earlier entry is due. `running`: the turn of the entry has not ended. `held`: the entry starts no turn until the hold ends.',
});

const overlap = z.enum(['skip', 'queue']).meta({
  description:
    'Action when a scheduled run is due before the previous run has ended. `skip`: skip the new run. `queue`: start it after the previous run; if a run is queued already, skip it.',
});

export const hold = component(
  'Hold',
  'The reason why a queue entry, or the whole queue of a session, waits.',
  {
    code: text(
      'Code of the hold, in snake_case. Holds of queue entries: paused, session_closed or session_failed. Holds of sessions: paused, stopped, no_agent, usage_limit, budget or goal. Later versions may add codes.',
    ),
    message: text('Reason, for users to read.'),
    since: nullableTime('Time at which the hold started (Unix ms). Null if unknown.'),
    until: nullableTime(
      'Time at which the hold ends automatically (Unix ms). Null if it does not.',
    ),
  },
);
export type Hold = z.output<typeof hold>;

const reason = z.string().max(2000).describe('Reason for the entry or action, stored as a note.');
const timeZone = z.string().max(100).meta({
  description: 'Time zone of the IANA database, such as Europe/Berlin.',
});
const cron = z.string().max(200).meta({
  description:
    'Cron expression with five fields (minute, hour, day of month, month, day of week), or a name such as @daily. It is due at most once per minute.',
});

/** A queue entry as it is stored. */
export const storedQueueEntry = component(
  'StoredQueueEntry',
  'An input that becomes a turn of a session later.',
  {
    id: z.string(),
    session_id: z.string(),
    name: nullableText('Name of the entry. Null if it has none.'),
    reason: reason.nullable(),
    input: z.array(storedInputItem),
    permission_mode: nullableText(
      'Permission mode of the turns of the entry. Null if the setting of the session applies.',
    ),
    agent_mode: nullableText(
      'Agent mode of the turns of the entry. Null if the setting of the session applies.',
    ),
    model: nullableText(
      'Model of the turns of the entry. Null if the setting of the session applies.',
    ),
    thinking_effort: nullableText(
      'Thinking effort of the turns of the entry. Null if the setting of the session applies.',
    ),
    at: nullableTime(
      'Due time of the only turn of the entry (Unix ms). Null if it has no such time.',
    ),
    every: cron
      .nullable()
      .describe('Schedule of the turns, in time_zone. Null if the entry has only one turn.'),
    time_zone: timeZone
      .nullable()
      .describe('Time zone of `every`, or the time zone in which clients show `at`.'),
    overlap,
    status: queueStatus,
    next_at: nullableTime(
      'Next due time (Unix ms). Null if the entry is due or held, or has no further due time.',
    ),
    due_at: nullableTime(
      'Due time of the waiting or running run (Unix ms). Null if no run waits or is running.',
    ),
    again_at: nullableTime(
      'Due time of the run that follows the running one (Unix ms). Null if no run follows.',
    ),
    settled_until: nullableTime(
      'For schedules: time up to which every due time has become a run or was skipped (Unix ms).',
    ),
    hold: hold.nullable(),
    turn_id: nullableText('Turn of the current run. Null if no run is in progress.'),
    last_turn_id: nullableText('Turn of the last run that started. Null if none has started.'),
    last_status: turnStatus.nullable().describe('Result of that turn. Null if no turn has ended.'),
    runs: integer('Number of turns that have started.'),
    skipped: integer('Number of runs that were skipped.'),
    created_by: text('Id of the token that created the entry.'),
    created_at: timestamp,
    updated_at: timestamp,
  },
);
export type StoredQueueEntry = z.output<typeof storedQueueEntry>;

const queueEntry = storedQueueEntry
  .extend({
    position: integer(
      'Position among the entries of the session, starting at 1. The first entry that is due becomes the next turn. When a run of a schedule ends, the schedule moves to the end of the queue.',
    ),
    session_holds: z.array(hold).meta({
      description:
        'Reasons why the queue of the session starts no turns. Empty if it can start turns.',
    }),
  })
  .meta({
    id: 'QueueEntry',
    description: 'A queue entry with its position and the holds of its session.',
  });
export type QueueEntry = z.output<typeof queueEntry>;

const sessionQueue = component('SessionQueue', 'The queue of one session.', {
  session_id: z.string(),
  holds: z.array(hold).meta({
    description:
      'Reasons why the queue starts no turns, even if the session is idle. Empty if it can start turns.',
  }),
  entries: z.array(queueEntry).describe('Entries in queue order.'),
});
export type SessionQueue = z.output<typeof sessionQueue>;

const entryParam = { entry_id: text('Queue entry id.') };
const input = z
  .union([z.array(inputItem).min(1), inputItem])
  .describe('Input items, as for a turn: an array of items or a single item.');
const settings = {
  permission_mode: optionalName('Permission mode for the turns of this entry only.'),
  agent_mode: agentMode.describe(
    "Mode of an agent of the provider `acp`, by the agent's own name for it, for the turns of this entry only.",
  ),
  model: optionalName('Model for the turns of this entry only.'),
  thinking_effort: optionalName('Thinking effort for the turns of this entry only.'),
};
const times = {
  at: requestedTime.nullish().meta({
    description:
      'Due time of the turn (Unix ms). An entry with a time in the past is due immediately.',
  }),
  every: cron.nullish().describe('Schedule of the turns. Cannot be combined with `at`.'),
  time_zone: timeZone.nullish().meta({
    description:
      'Time zone of `every`, or the time zone in which clients show `at`. Default: the time zone of the server. Requires `every` or `at`.',
  }),
};

export const addToQueue = endpoint('POST /v1/sessions/{session_id}/queue', {
  summary: 'Queue a prompt: when the session is free, at a given time, or on a schedule',
  params: sessionParam,
  body: z.strictObject({
    input,
    name: nameOfLength(100).nullish().describe('Name of the entry.'),
    reason: reason.nullish(),
    ...times,
    overlap: overlap.nullish().meta({
      description:
        'Action when a scheduled run is due before the previous run has ended. Default: `skip`.',
    }),
    ...settings,
  }),
  bodyLimit: 8 * 1024 * 1024,
  response: queueEntry,
  errors: ['session_closed', 'session_failed', 'provider_unavailable', 'too_many'],
});

export const getSessionQueue = endpoint('GET /v1/sessions/{session_id}/queue', {
  summary: 'Get the queue of a session, in queue order',
  params: sessionParam,
  response: sessionQueue,
});

export const pauseSessionQueue = endpoint('POST /v1/sessions/{session_id}/queue/pause', {
  summary: 'Pause the queue of a session; a running turn continues',
  params: sessionParam,
  body: z.strictObject({
    reason: reason.nullish(),
    until: requestedTime
      .nullish()
      .describe('Time at which the pause ends automatically (Unix ms). Default: it does not.'),
  }),
  response: sessionQueue,
  errors: ['session_closed'],
});

export const resumeSessionQueue = endpoint('POST /v1/sessions/{session_id}/queue/resume', {
  summary: 'Resume the queue of a session after a pause or an interrupt',
  params: sessionParam,
  body: z.strictObject({}),
  response: sessionQueue,
  errors: ['session_closed'],
});

export const listQueue = endpoint('GET /v1/queue', {
  summary: 'List the queue entries of all sessions, newest first',
  query: {
    session_id: z.string().optional().describe('Return only entries of this session.'),
    status: queueStatus.optional().describe('Return only entries with this status.'),
    ...pageQuery,
  },
  response: z.array(queueEntry),
  errors: ['not_found'],
});

export const getQueueEntry = endpoint('GET /v1/queue/{entry_id}', {
  summary: 'Get a queue entry',
  params: entryParam,
  response: queueEntry,
});

export const editQueueEntry = endpoint('PATCH /v1/queue/{entry_id}', {
  summary: 'Update a queue entry; absent fields are not changed',
  params: entryParam,
  body: z.strictObject({
    input: input.optional(),
    name: nameOfLength(100).nullish().describe('Name of the entry.'),
    reason: reason.nullish(),
    ...times,
    at: requestedTime
      .nullish()
      .describe('Due time of the turn (Unix ms). Null: due now. Replaces `every`.'),
    every: cron.nullish().describe('Schedule of the turns. Replaces `at`.'),
    overlap: overlap.optional(),
    ...settings,
  }),
  bodyLimit: 8 * 1024 * 1024,
  response: queueEntry,
  errors: ['conflict', 'provider_unavailable'],
});

export const moveQueueEntry = endpoint('POST /v1/queue/{entry_id}/move', {
  summary: 'Move an entry in the queue of its session',
  params: entryParam,
  body: z
    .strictObject({
      before: optionalText('Entry to place this entry before.'),
      to: z
        .enum(['first', 'last'])
        .nullish()
        .describe('Place the entry before or after all others. Default, without `before`: `last`.'),
    })
    .refine(({ before, to }) => (before ?? null) === null || (to ?? null) === null, {
      error: 'has both before and to: send only one of them',
    }),
  response: sessionQueue,
});

export const pauseQueueEntry = endpoint('POST /v1/queue/{entry_id}/pause', {
  summary: 'Pause a queue entry; a running turn of it continues',
  params: entryParam,
  body: z.strictObject({ reason: reason.nullish() }),
  response: queueEntry,
  errors: ['conflict'],
});

export const resumeQueueEntry = endpoint('POST /v1/queue/{entry_id}/resume', {
  summary: 'Resume a paused queue entry; scheduled runs missed during the pause are skipped',
  params: entryParam,
  body: z.strictObject({}),
  response: queueEntry,
  errors: ['session_closed', 'session_failed'],
});

export const dropQueueEntry = endpoint('DELETE /v1/queue/{entry_id}', {
  summary: 'Remove an entry from the queue; a running turn of a schedule continues',
  params: entryParam,
  response: queueEntry,
  errors: ['conflict'],
});

export const queueDiagnostics = component(
  'QueueDiagnostics',
  'State of the queues of all sessions.',
  {
    entries: z.record(z.string(), z.int()).describe('Number of entries by status.'),
    sessions_held: integer('Number of sessions whose queue starts no turns because of a hold.'),
    next_at: nullableTime('Next due time of all entries (Unix ms). Null if none is scheduled.'),
  },
);
export type QueueDiagnostics = z.output<typeof queueDiagnostics>;
