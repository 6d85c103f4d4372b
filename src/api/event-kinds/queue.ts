import { z } from 'zod';
import { timestamp } from '../common.ts';
import { goal } from '../goals.ts';
import { watch } from '../watches.ts';
import { hold, storedQueueEntry } from '../queue.ts';
import { turnStatus } from '../sessions.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('session');

/** An entry as events contain it if its input has not changed. */
const entryInEvents = storedQueueEntry.omit({ input: true }).meta({
  id: 'QueueEntryInEvents',
  description: 'A queue entry that has changed, without `input`.',
});
export type QueueEntryInEvents = z.output<typeof entryInEvents>;

const editedEntry = storedQueueEntry
  .extend({
    input: storedQueueEntry.shape.input.nullable().describe('New input. Null if unchanged.'),
  })
  .meta({ id: 'EditedQueueEntry', description: 'A queue entry that a user has changed.' });

const entry = {
  id: 'que_019aa8d5ee107b7d9c0a7f5e2d1c0b12',
  session_id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  name: 'morning',
  reason: null,
  permission_mode: null,
  agent_mode: null,
  model: null,
  thinking_effort: null,
  at: null,
  every: '0 8 * * MON-FRI',
  time_zone: 'Europe/Berlin',
  overlap: 'skip' as const,
  status: 'scheduled' as const,
  next_at: 1795417200000,
  due_at: null,
  again_at: null,
  settled_until: 1795312001000,
  hold: null,
  turn_id: null,
  last_turn_id: null,
  last_status: null,
  runs: 0,
  skipped: 0,
  created_by: 'api',
  created_at: 1795312001000,
  updated_at: 1795312001000,
};
const input = [{ type: 'text' as const, text: 'what is new?' }];
const waiting = {
  ...entry,
  status: 'waiting' as const,
  due_at: 1795417200000,
  next_at: 1795503600000,
};
const running = {
  ...waiting,
  status: 'running' as const,
  turn_id: 'turn_019aa8d26f307d6a8c1f91b7a3e0d422',
};
const paused = { code: 'paused', message: 'on holiday', since: 1795312005000, until: null };

/** The queue of a session. */
export const queueKinds = {
  'queue.added': kind({
    when: 'Emitted when an entry was added to the queue of a session. The queue entry is due now, at a set time, or on a schedule.',
    payload: { entry: storedQueueEntry },
    large: ['entry.input'],
    example: { entry: { ...entry, input } },
  }),
  'queue.edited': kind({
    when: 'Emitted when a user changes the input, times or name of a queue entry.',
    payload: { entry: editedEntry },
    large: ['entry.input'],
    example: { entry: { ...entry, input: [{ type: 'text', text: 'what is new since Friday?' }] } },
  }),
  'queue.changed': kind({
    when: 'Emitted when a queue entry changes without a request of a user. For example, the turn of the entry was accepted, or the turn ended before it had started. The schedule of an entry also restarts if the clock was set back by more than a day.',
    payload: { entry: entryInEvents },
    example: { entry: running },
  }),
  'queue.moved': kind({
    when: 'Emitted when the order of the queue of a session changes. A user moved a queue entry, or a run of a schedule ended and the schedule moved to the end.',
    payload: {
      entry_ids: z.array(z.string()).describe('Ids of all entries of the session, in queue order.'),
    },
    large: ['entry_ids'],
    example: { entry_ids: [entry.id] },
  }),
  'queue.due': kind({
    when: 'Emitted when a queue entry becomes due. The entry becomes a turn when the session is idle and no earlier entry is due.',
    payload: {
      entry: entryInEvents,
      due_at: timestamp.describe('Due time of the entry (Unix ms).'),
    },
    example: { entry: waiting, due_at: 1795417200000 },
  }),
  'queue.started': kind({
    when: 'Emitted when the server is about to send the prompt of a queue entry to an agent.',
    payload: { entry: entryInEvents },
    example: { entry: { ...running, runs: 1, last_turn_id: running.turn_id } },
  }),
  'queue.finished': kind({
    when: 'Emitted when the turn of a queue entry has ended. The event `queue.removed` follows unless the entry is a schedule.',
    payload: { entry: entryInEvents, status: turnStatus.describe('Final status of the turn.') },
    example: {
      status: 'completed',
      entry: {
        ...entry,
        next_at: waiting.next_at,
        settled_until: waiting.due_at,
        runs: 1,
        last_turn_id: running.turn_id,
        last_status: 'completed',
      },
    },
  }),
  'queue.skipped': kind({
    when: 'Emitted when runs of a schedule are skipped. The field `why` contains the reason: `missed` (the server or the machine was not running), `held` (the queue entry was held) or `overlap` (the previous run had not ended).',
    payload: {
      entry: entryInEvents,
      why: z.enum(['missed', 'held', 'overlap']),
      count: z.int().describe('Number of skipped runs. 1000 means 1000 or more.'),
      first_at: timestamp.describe('Due time of the first skipped run (Unix ms).'),
      last_at: timestamp.describe('Due time of the last skipped run (Unix ms).'),
    },
    example: {
      entry: { ...entry, skipped: 2 },
      why: 'missed',
      count: 2,
      first_at: 1795417200000,
      last_at: 1795503600000,
    },
  }),
  'queue.held': kind({
    when: 'Emitted when a queue entry is held, so that it starts no turns. The field `hold` contains the reason: a user paused the entry, or the session was closed or failed.',
    payload: { entry: entryInEvents },
    example: { entry: { ...entry, status: 'held', next_at: null, hold: paused } },
  }),
  'queue.released': kind({
    when: 'Emitted when the hold of a queue entry ends, because a user resumed the entry or the session.',
    payload: { entry: entryInEvents },
    example: { entry },
  }),
  'queue.removed': kind({
    when: 'Emitted when an entry leaves the queue. The field `why` contains the reason: `done` (the only turn of the entry has ended), `dropped` (a user removed the entry) or `trimmed` (retention deleted the content of the closed session).',
    payload: { entry: entryInEvents, why: z.enum(['done', 'dropped', 'trimmed']) },
    example: { entry, why: 'dropped' },
  }),
  'queue.session_held': kind({
    when: 'Emitted when the queue of a session is held, so that it starts no turns until a user resumes the queue or the hold ends. A running turn continues.',
    payload: { hold },
    example: { hold: paused },
  }),
  'queue.session_released': kind({
    when: "Emitted when the hold of a session's queue ends, because a user resumed the session or the time of the hold has passed.",
    payload: { hold },
    example: { hold: paused },
  }),
};

const goalSet = {
  goal_id: 'goal_019aa8d5ee107b7d9c0a7f5e2d1c0b12',
  session_id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  command: 'npm test',
  max_rounds: 5,
  check_timeout_ms: 600000,
  ends_by: null,
  status: 'waiting' as const,
  reason: null,
  round: 0,
  process_id: null,
  last: null,
  created_by: 'api',
  created_at: 1795312001000,
  updated_at: 1795312001000,
  ended_at: null,
};
const goalProcess = 'proc_019aa8d26f307d6a8c1f91b7a3e0d422';
const goalChecking = { ...goalSet, status: 'checking' as const, process_id: goalProcess };
const goalFailed = {
  ...goalChecking,
  status: 'waiting' as const,
  round: 1,
  last: {
    process_id: goalProcess,
    exit_code: 1,
    signal: null,
    timed_out: false,
    stdout: '1 test failed\n',
    stderr: '',
  },
};
const goalPassed = {
  ...goalChecking,
  status: 'passed' as const,
  round: 1,
  last: { ...goalFailed.last, exit_code: 0, stdout: '12 tests passed\n' },
  ended_at: 1795312061000,
};

/** The goal of a session. */
export const goalKinds = {
  'goal.set': kind({
    when: 'Emitted when a user sets the goal of a session: a command that is checked after each turn until it passes.',
    payload: { goal },
    example: { goal: goalSet },
  }),
  'goal.checking': kind({
    when: 'Emitted when a turn of a session with a goal has ended and the check is due, and again when the process of the check was accepted. The session starts no turn of its queue until the check has ended.',
    payload: { goal },
    example: { goal: goalChecking },
  }),
  'goal.checked': kind({
    when: 'Emitted when a check of a goal has ended. If the check failed and the goal is still `waiting`, the output of the check becomes the next turn.',
    payload: { goal },
    example: { goal: goalFailed },
  }),
  'goal.ended': kind({
    when: 'Emitted when a goal has passed, or has ended for the reason in the field `reason`.',
    payload: { goal },
    example: { goal: goalPassed },
  }),
};

const watchStarted = {
  watch_id: 'watch_019aa8d5ee107b7d9c0a7f5e2d1c0b13',
  session_id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
  command: 'gh pr checks',
  every_ms: 60000,
  max_turns: 10,
  check_timeout_ms: 600000,
  status: 'waiting' as const,
  reason: null,
  next_at: 1795312001000,
  output_sha256: null,
  changes: 0,
  day_started_at: null,
  turns_of_day: 0,
  failures: 0,
  process_id: null,
  last: null,
  created_by: 'api',
  created_at: 1795312001000,
  updated_at: 1795312001000,
  ended_at: null,
};
const watchChanged = {
  ...watchStarted,
  next_at: 1795312121000,
  output_sha256: '3b5d3c7d207e37dceeedd301e35e2e58aa2c3a1f8b8f0f8d1a2b3c4d5e6f7a8b',
  changes: 1,
  day_started_at: 1795312061000,
  turns_of_day: 1,
  process_id: goalProcess,
  last: { ...goalFailed.last, stdout: 'lint  fail\n' },
};

/** The watch of a session. */
export const watchKinds = {
  'watch.started': kind({
    when: 'Emitted when a user starts the watch of a session: a command whose changed output becomes a turn.',
    payload: { watch },
    example: { watch: watchStarted },
  }),
  'watch.changed': kind({
    when: 'Emitted when the output of a watched command has changed. The output becomes a turn of the session. Checks without a change have no events of the group `watch`.',
    payload: { watch },
    example: { watch: watchChanged },
  }),
  'watch.ended': kind({
    when: 'Emitted when a watch has ended for the reason in the field `reason`.',
    payload: { watch },
    example: {
      watch: {
        ...watchChanged,
        status: 'ended' as const,
        reason: 'stopped' as const,
        next_at: null,
      },
    },
  }),
};
