import { z } from 'zod';
import { recoverySummary } from '../runtime.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('runtime');

/** The runtime and its store. */
export const runtimeKinds = {
  'runtime.started': kind({
    when: 'Emitted when the server has started. This event is the first event of each run of the server.',
    payload: {
      previous_stop: z
        .enum(['clean', 'unclean', 'none'])
        .describe('End of the previous run. `none`: there was no previous run.'),
    },
    example: { previous_stop: 'unclean' },
  }),
  'runtime.recovered': kind({
    when: 'Emitted at each start of the server, after the server has repaired the unfinished work of its previous run.',
    payload: { recovery: recoverySummary },
    large: [
      'recovery.sessions_failed',
      'recovery.turn_pointers_cleared',
      'recovery.turns_failed',
      'recovery.turns_attached',
      'recovery.turns_reconciled',
      'recovery.approvals_kept',
      'recovery.approvals_cancelled',
      'recovery.processes_failed',
      'recovery.processes_attached',
      'recovery.orphans_killed',
      'recovery.claims_released',
      'recovery.worktrees_missing',
      'recovery.deliveries_retried',
    ],
    example: {
      recovery: {
        status: 'running',
        started_at: 1795312000000,
        ended_at: null,
        previous_stop: 'unclean',
        sessions_failed: [],
        turn_pointers_cleared: ['sess_019aa8d25b1c7c079a542f6d0c1b7e11'],
        turns_failed: ['turn_019aa8d26f307d6a8c1f91b7a3e0d422'],
        turns_reconciled: [],
        approvals_kept: [],
        approvals_cancelled: [],
        processes_failed: ['proc_019aa8d30a447b1eb0de6c2f5a9e8d01'],
        orphans_killed: [41872],
        claims_released: [],
        worktrees_missing: [],
        deliveries_retried: [],
      },
    },
  }),
  'runtime.stopping': kind({
    when: 'Emitted when the server starts to shut down and accepts no new work.',
    payload: {},
    example: {},
  }),
  'storage.trimmed': kind({
    when: 'Emitted when retention (the deletion of old content) deletes events of a closed session, of an ended process, or other old events.',
    payload: {
      reason: z
        .enum(['max_bytes', 'max_age_days'])
        .describe('Retention setting that caused the deletion.'),
      events: z.int().describe('Number of deleted events.'),
      trimmed_seq: z.int().describe('Highest deleted sequence number. 0 if there is none.'),
      closed_session_id: z.string().optional().meta({
        description:
          'Session of the deleted events. Absent if they do not belong to one closed session.',
      }),
      process_id: z.string().optional().meta({
        description: 'Process of the deleted events. Absent if they do not belong to one process.',
      }),
      is_whole: z.boolean().optional().meta({
        description: 'Whether only the record of the session or process remains.',
      }),
    },
    example: {
      reason: 'max_bytes',
      events: 212,
      trimmed_seq: 48213,
      closed_session_id: 'sess_019aa8d25b1c7c079a542f6d0c1b7e11',
      is_whole: true,
    },
  }),
};
