import { z } from 'zod';
import { component, nullableText, nullableTime, optionalFlag, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { sessionParam } from './sessions.ts';

/** The limits and defaults of goals. */
export const goalLimits = {
  maxRounds: 100,
  defaultRounds: 5,
  maxTimeMs: 2_147_483_647,
  defaultCheckMs: 600_000,
  /** The maximum length of the command in UTF-16 code units. */
  command: 10_000,
};

export const goalCommand = z.string().min(1).max(goalLimits.command).meta({
  description:
    'Command that checks the work: the goal is passed if the command exits with code 0. A shell command line, or a program with its arguments if the shell is disabled. It runs as a process of the session, in its directory.',
});
export const goalRounds = z.int().min(1).max(goalLimits.maxRounds);
export const goalCheckTime = z.int().min(1).max(goalLimits.maxTimeMs);

export const checkResult = component('CheckResult', 'The result of one check of a goal or watch.', {
  process_id: nullableText('Process that ran the check. Null if it could not be started.'),
  exit_code: z.int().nullable().describe('Exit code of the check. Null if it did not exit.'),
  signal: nullableText('Signal that ended the check. Null if no signal did.'),
  timed_out: z.boolean().describe('Whether the check reached its time limit.'),
  stdout: text('End of the standard output.'),
  stderr: text('End of the standard error output. If the check could not be started, the reason.'),
});
export type CheckResult = z.output<typeof checkResult>;

export const goal = component(
  'Goal',
  'A command that has to pass before the work of a session is done. If it fails, its output becomes the next turn.',
  {
    goal_id: z.string(),
    session_id: z.string(),
    command: goalCommand,
    max_rounds: goalRounds.describe('Maximum number of checks.'),
    check_timeout_ms: goalCheckTime.describe('Time limit of each check in milliseconds.'),
    ends_by: nullableTime(
      'Time at which the goal ends if no check has passed (Unix ms). A running turn or check ends first. Null if there is no time limit.',
    ),
    status: z.enum(['waiting', 'checking', 'passed', 'ended']).meta({
      description:
        'Status of the goal. `waiting`: the check follows the next turn of the session. `checking`: the check runs or is about to start, and the session starts no turn of its queue. `passed`: the check has passed. `ended`: the goal ended for another `reason`.',
    }),
    reason: z
      .enum([
        'rounds',
        'time',
        'stuck',
        'cannot_run',
        'turn_failed',
        'interrupted',
        'session_closed',
        'cancelled',
      ])
      .nullable()
      .meta({
        description:
          'Reason why the goal ended. `rounds`: `max_rounds` checks failed. `time`: `ends_by` has passed. `stuck`: two checks in a row had the same result, and the turn between them changed no file (known only with snapshots). `cannot_run`: the command could not be started, or exited with code 126 or 127. `turn_failed`: a turn failed. `interrupted`: a user interrupted a turn. `session_closed`: the session was closed. `cancelled`: a user cancelled the goal. Null if the goal is active or has passed.',
      }),
    round: z.int().describe('Number of checks that have ended.'),
    process_id: nullableText(
      'Process of the running or last check. Null if none has started, or the next one is about to start.',
    ),
    last: checkResult.nullable().describe('Result of the last check. Null if none has ended.'),
    created_by: text('Id of the token that set the goal.'),
    created_at: timestamp,
    updated_at: timestamp,
    ended_at: nullableTime(
      'Time at which the goal passed or ended (Unix ms). Null if it is active.',
    ),
  },
);
export type Goal = z.output<typeof goal>;

export const setGoal = endpoint('POST /v1/sessions/{session_id}/goal', {
  summary: 'Set the goal of a session: a command that is checked after each turn until it passes',
  params: sessionParam,
  body: z.strictObject({
    command: goalCommand,
    max_rounds: goalRounds
      .nullish()
      .describe(`Maximum number of checks. Default: ${goalLimits.defaultRounds}.`),
    check_timeout_ms: goalCheckTime
      .nullish()
      .describe(`Time limit of each check in milliseconds. Default: ${goalLimits.defaultCheckMs}.`),
    within_ms: goalCheckTime.nullish().meta({
      description: 'Time in milliseconds after which the goal ends. Default: no time limit.',
    }),
    check_now: optionalFlag(
      'Whether the first check starts immediately if the session has no running turn. Default: false (the first check follows the next turn).',
    ),
  }),
  response: goal,
  errors: ['conflict', 'session_closed', 'session_failed'],
});

export const getGoal = endpoint('GET /v1/sessions/{session_id}/goal', {
  summary: 'Get the goal of a session that was set last',
  params: sessionParam,
  response: goal,
});

export const cancelGoal = endpoint('DELETE /v1/sessions/{session_id}/goal', {
  summary: 'Cancel the goal of a session; a running check is killed, a running turn continues',
  params: sessionParam,
  response: goal,
});
