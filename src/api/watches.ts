import { z } from 'zod';
import {
  component,
  nullableText,
  nullableTime,
  optionalFlag,
  pageQuery,
  text,
  timestamp,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { checkResult, goalLimits } from './goals.ts';
import { sessionParam } from './sessions.ts';

/** The limits and defaults of watches. */
export const watchLimits = {
  minEveryMs: 30_000,
  maxEveryMs: 86_400_000,
  defaultEveryMs: 60_000,
  maxTurns: 1000,
  defaultTurns: 10,
  /** The time limit of each check in ms. */
  checkMs: 600_000,
};

const command = z.string().min(1).max(goalLimits.command).meta({
  description:
    'Command whose output is watched. A shell command line, or a program with its arguments if the shell is disabled. It runs as a process of the session, in its directory.',
});
const every = z.int().min(watchLimits.minEveryMs).max(watchLimits.maxEveryMs);
const turns = z.int().min(1).max(watchLimits.maxTurns);

export const watch = component(
  'Watch',
  'A command that runs again and again. If its output has changed, the output becomes a turn of the session.',
  {
    watch_id: z.string(),
    session_id: z.string(),
    command,
    every_ms: every.describe('Time between two checks in milliseconds.'),
    max_turns: turns.describe('Maximum number of turns in 24 hours.'),
    check_timeout_ms: z.int().describe('Time limit of each check in milliseconds.'),
    status: z.enum(['waiting', 'checking', 'ended']).meta({
      description:
        'Status of the watch. `waiting`: the next check is due at `next_at`. `checking`: a check runs or is about to start.',
    }),
    reason: z.enum(['cannot_run', 'session_closed', 'stopped']).nullable().meta({
      description:
        'Reason why the watch ended. `cannot_run`: several checks in a row could not be started, did not exit within their time limit, or exited with code 126 or 127. `session_closed`: the session was closed. `stopped`: a user stopped the watch. Null if the watch is active.',
    }),
    next_at: nullableTime(
      'Due time of the next check (Unix ms). If the session is busy or held then, the check is postponed by `every_ms`. Null if a check is running, or the watch has ended.',
    ),
    output_sha256: nullableText(
      'SHA-256 digest of the last output and exit code. Before the first check has ended: null, or an empty text if the first output becomes a turn.',
    ),
    changes: z.int().describe('Number of changes that were added to the inbox of the session.'),
    day_started_at: nullableTime(
      'Start of the 24 hours in which turns are counted (Unix ms). Null before the first turn.',
    ),
    turns_of_day: z.int().describe('Number of turns since `day_started_at`.'),
    failures: z.int().describe('Number of checks in a row that could not run.'),
    process_id: nullableText(
      'Process of the running or last check. Null if none has started, or the next one is about to start.',
    ),
    last: checkResult
      .nullable()
      .describe('Result of the last check that could not run, or whose output had changed.'),
    created_by: text('Id of the token that started the watch.'),
    created_at: timestamp,
    updated_at: timestamp,
    ended_at: nullableTime('Time at which the watch ended (Unix ms). Null if it is active.'),
  },
);
export type Watch = z.output<typeof watch>;

export const startWatch = endpoint('POST /v1/sessions/{session_id}/watch', {
  summary: 'Watch a command: if its output has changed, the output becomes a turn of the session',
  params: sessionParam,
  body: z.strictObject({
    command,
    every_ms: every
      .nullish()
      .describe(`Time between two checks in milliseconds. Default: ${watchLimits.defaultEveryMs}.`),
    max_turns: turns
      .nullish()
      .describe(`Maximum number of turns in 24 hours. Default: ${watchLimits.defaultTurns}.`),
    now: optionalFlag(
      'Whether the first output becomes a turn. Default: false (later outputs are compared with the first output).',
    ),
  }),
  response: watch,
  errors: ['conflict', 'session_closed', 'session_failed'],
});

export const getWatch = endpoint('GET /v1/sessions/{session_id}/watch', {
  summary: 'Get the watch of a session that was started last',
  params: sessionParam,
  response: watch,
});

export const stopWatch = endpoint('DELETE /v1/sessions/{session_id}/watch', {
  summary: 'Stop the watch of a session; a running check is killed, a running turn continues',
  params: sessionParam,
  response: watch,
});

export const listWatches = endpoint('GET /v1/watches', {
  summary: 'List watches, newest first: the last watch of each session',
  query: {
    status: watch.shape.status.optional().describe('Return only watches with this status.'),
    ...pageQuery,
  },
  response: z.array(watch),
});
