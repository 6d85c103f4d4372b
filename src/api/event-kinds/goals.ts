import { goal } from '../goals.ts';
import { describeKinds } from './kind.ts';

const kind = describeKinds('session');

const set = {
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
const process_id = 'proc_019aa8d26f307d6a8c1f91b7a3e0d422';
const checking = { ...set, status: 'checking' as const, process_id };
const failed = {
  ...checking,
  status: 'waiting' as const,
  round: 1,
  last: {
    process_id,
    exit_code: 1,
    signal: null,
    timed_out: false,
    stdout: '1 test failed\n',
    stderr: '',
  },
};
const passed = {
  ...checking,
  status: 'passed' as const,
  round: 1,
  last: { ...failed.last, exit_code: 0, stdout: '12 tests passed\n' },
  ended_at: 1795312061000,
};

/** The goal of a session. */
export const goalKinds = {
  'goal.set': kind({
    when: 'Emitted when a user sets the goal of a session: a command that is checked after each turn until it passes.',
    payload: { goal },
    example: { goal: set },
  }),
  'goal.checking': kind({
    when: 'Emitted when a turn of a session with a goal has ended and the check is due, and again when the process of the check was accepted. The session starts no turn of its queue until the check has ended.',
    payload: { goal },
    example: { goal: checking },
  }),
  'goal.checked': kind({
    when: 'Emitted when a check of a goal has ended. If the check failed and the goal is still `waiting`, the output of the check becomes the next turn.',
    payload: { goal },
    example: { goal: failed },
  }),
  'goal.ended': kind({
    when: 'Emitted when a goal has passed, or has ended for the reason in the field `reason`.',
    payload: { goal },
    example: { goal: passed },
  }),
};
