import { z } from 'zod';
import { timestamp } from '../common.ts';
import { hold, storedQueueEntry } from '../queue.ts';
import { turnStatus } from '../sessions.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('session');

/** An entry as events carry it where its input has not changed. */
const entryInEvents = storedQueueEntry.omit({ input: true }).meta({
  id: 'QueueEntryInEvents',
  description: 'An entry of the queue that has changed, without `input`.',
});
export type QueueEntryInEvents = z.output<typeof entryInEvents>;

const editedEntry = storedQueueEntry
  .extend({
    input: storedQueueEntry.shape.input.nullable().describe('What it says; null: as before.'),
  })
  .meta({
    id: 'EditedQueueEntry',
    description: 'An entry of the queue that a person has changed.',
  });

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

/** The queue of a session: what becomes a turn of it later. */
export const queueKinds = {
  'queue.added': kind({
    when: 'An entry was added to the queue of a session, and stored: it is due now, at a time, or again and again.',
    payload: { entry: storedQueueEntry },
    large: ['entry.input'],
    example: { entry: { ...entry, input } },
  }),
  'queue.edited': kind({
    when: 'A person changed an entry: what is said, when, or what it is called.',
    payload: { entry: editedEntry },
    large: ['entry.input'],
    example: { entry: { ...entry, input: [{ type: 'text', text: 'what is new since Friday?' }] } },
  }),
  'queue.changed': kind({
    when:
      'An entry changed by itself: its turn was accepted, or ended before it had started, so that it waits again; or its ' +
      'schedule began anew, because the clock was set back by more than a day.',
    payload: { entry: entryInEvents },
    example: { entry: running },
  }),
  'queue.moved': kind({
    when: 'The order of the entries of a session changed: a person moved one, or a run of a schedule ended, which puts it behind what waits.',
    payload: {
      entry_ids: z.array(z.string()).describe('All entries of the session, in their order.'),
    },
    large: ['entry_ids'],
    example: { entry_ids: [entry.id] },
  }),
  'queue.due': kind({
    when: 'The time of an entry has come: it becomes a turn once its session is free and nothing before it waits.',
    payload: { entry: entryInEvents, due_at: timestamp.describe('The time that has come.') },
    example: { entry: waiting, due_at: 1795417200000 },
  }),
  'queue.started': kind({
    when: 'The turn of an entry has an agent, which is about to be prompted.',
    payload: { entry: entryInEvents },
    example: { entry: { ...running, runs: 1, last_turn_id: running.turn_id } },
  }),
  'queue.finished': kind({
    when: 'The turn of an entry has ended; `queue.removed` follows unless it is a schedule.',
    payload: { entry: entryInEvents, status: turnStatus.describe('How the turn ended.') },
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
    when:
      'Runs of a schedule are left out, for good. `why`: missed, because the server did not run or the machine slept ' +
      'when they were due; held, because the entry was held; overlap, because the run before had not ended.',
    payload: {
      entry: entryInEvents,
      why: z.enum(['missed', 'held', 'overlap']),
      count: z.int().describe('How many; at 1000, there are that many or more.'),
      first_at: timestamp.describe('When the first of them was due.'),
      last_at: timestamp.describe('When the last of them was due.'),
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
    when: 'An entry becomes no turn for now; its `hold` says why: a person paused it, or its session was closed or has failed.',
    payload: { entry: entryInEvents },
    example: { entry: { ...entry, status: 'held', next_at: null, hold: paused } },
  }),
  'queue.released': kind({
    when: 'The hold of an entry ended: a person resumed it, or its session was brought back.',
    payload: { entry: entryInEvents },
    example: { entry },
  }),
  'queue.removed': kind({
    when:
      'An entry has left the queue. `why`: done, because its only turn has ended; dropped by a person; trimmed, because ' +
      'retention deleted the content of its closed session.',
    payload: { entry: entryInEvents, why: z.enum(['done', 'dropped', 'trimmed']) },
    example: { entry, why: 'dropped' },
  }),
  'queue.session_held': kind({
    when: 'Nothing that waits for a session becomes a turn from now on, until somebody resumes it or the time of the hold has come. A running turn goes on.',
    payload: { hold },
    example: { hold: paused },
  }),
  'queue.session_released': kind({
    when: 'A hold of a session ended, because somebody resumed it or its time has come.',
    payload: { hold },
    example: { hold: paused },
  }),
};
