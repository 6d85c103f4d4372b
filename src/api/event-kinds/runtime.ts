import { z } from 'zod';
import { recoverySummary } from '../runtime.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('runtime');

/** The runtime and its store. */
export const runtimeKinds = {
  'runtime.started': kind({
    when: 'The server has started: the first event of each run.',
    payload: {
      previous_stop: z
        .enum(['clean', 'unclean', 'none'])
        .describe('How the run before it ended; none: there was none.'),
    },
    example: { previous_stop: 'unclean' },
  }),
  'runtime.recovered': kind({
    when: 'What the run before left unfinished has been mended. It comes at each start, before the server listens.',
    payload: { recovery: recoverySummary },
    large: [
      'recovery.sessions_failed',
      'recovery.turn_pointers_cleared',
      'recovery.turns_failed',
      'recovery.turns_reconciled',
      'recovery.approvals_kept',
      'recovery.approvals_cancelled',
      'recovery.processes_failed',
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
    when: 'The server was told to stop, and takes no new work.',
    payload: {},
    example: {},
  }),
  'storage.trimmed': kind({
    when:
      'Retention took events: of a closed session, of an ended process, or the oldest of the rest. ' +
      'It comes once for each step.',
    payload: {
      reason: z
        .enum(['max_bytes', 'max_age_days'])
        .describe('The setting of retention that asked for it.'),
      events: z.int().describe('How many events went.'),
      trimmed_seq: z.int().describe('The highest seq that went; 0: none.'),
      closed_session_id: z.string().optional().describe('The session, where they were of one.'),
      process_id: z.string().optional().describe('The process, where they were of one.'),
      is_whole: z
        .boolean()
        .optional()
        .describe('Whether nothing but its record is left of the session or process.'),
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
