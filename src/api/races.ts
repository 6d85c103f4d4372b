import { z } from 'zod';
import {
  component,
  failure,
  nameOfLength,
  nullableInteger,
  nullableText,
  nullableTime,
  optionalName,
  pageQuery,
  text,
  timestamp,
} from './common.ts';
import { endpoint } from './endpoint.ts';
import { goalCommand, goalLimits, goalRounds, goalCheckTime } from './goals.ts';
import { providerId } from './provider-kinds.ts';
import { sessionSandbox } from './session-sandbox.ts';
import { agentMode, requestedAgent, usage } from './sessions.ts';
import { cleanupResult, gitReference, worktreeName } from './worktrees.ts';

/** The limits of races. `name` leaves room for the name of a contender in the name of a worktree. */
export const raceLimits = { leastContenders: 2, mostContenders: 8, name: 32, prompt: 100_000 };

export const contender = component('Contender', 'One session of a race.', {
  contender: text(
    'Name of the contender in the race: its agent or provider, with its model, and with a number if several have the same.',
  ),
  provider: providerId,
  agent: z.string().nullable(),
  model: z.string().nullable(),
  thinking_effort: z.string().nullable(),
  permission_mode: z.string().nullable(),
  agent_mode: z.string().nullable(),
  worktree_name: z.string(),
  session_id: nullableText('Session of the contender. Null if it has not started.'),
  worktree_id: nullableText('Worktree of the session. Null if it has not started.'),
  status: z
    .enum(['starting', 'running', 'checking', 'waiting', 'passed', 'completed', 'failed'])
    .meta({
      description:
        'Status of the contender. `starting`: its worktree and session are being created. `running`: a turn is running. `checking`: the check is running. `waiting`: see `waits_for`. `passed`: the check has passed. `completed`: its turn has completed, in a race without a check. `failed`: see `failure`.',
    }),
  waits_for: nullableText(
    'Reason why the session waits, such as an approval or a usage limit. Null unless the contender is `waiting`.',
  ),
  failure: failure
    .nullable()
    .describe('Reason why the contender failed. Null unless it is `failed`.'),
  checks: z.int().describe('Number of checks that have ended.'),
  exit_code: nullableInteger('Exit code of the last check. Null if there is none.'),
  files_changed: nullableInteger(
    'Number of files that differ from the start of the race. Null until the contender has ended, or if git cannot read the files.',
  ),
  additions: nullableInteger('Number of added lines.'),
  deletions: nullableInteger('Number of deleted lines.'),
  usage: usage
    .nullable()
    .describe('Usage of the session. It no longer changes when the contender has ended.'),
  started_at: nullableTime('Time at which the prompt was sent. Null if it was not sent.'),
  ended_at: nullableTime('Time at which the contender ended. Null until then.'),
});
export type Contender = z.output<typeof contender>;

export const race = component(
  'Race',
  'The same prompt in several sessions, each in a worktree of its own that starts from the same commit.',
  {
    id: z.string(),
    name: z.string(),
    prompt: z.string(),
    cwd: z.string(),
    repo_root: z.string(),
    base_ref: text('Branch or commit that the worktrees start from.'),
    base_commit: text('Commit that all worktrees start from.'),
    check: nullableText('Command that decides whether a contender has passed. Null for none.'),
    max_checks: z.int().describe('Maximum number of checks of each contender.'),
    check_timeout_ms: z.int().describe('Time limit of each check in milliseconds.'),
    sandbox: sessionSandbox.nullable(),
    status: z.enum(['running', 'ended', 'failed']).meta({
      description:
        'Status of the race. `running`: at least one contender has not ended. `ended`: all have ended, and at least one has passed or completed. `failed`: all contenders have failed.',
    }),
    kept: nullableText('Name of the contender that was kept. Null if none was kept yet.'),
    contenders: z.array(contender),
    created_by: text('Id of the token that started the race.'),
    created_at: timestamp,
    updated_at: timestamp,
    stopped_at: nullableTime('Time at which a user stopped the race. Null if nobody has.'),
    ended_at: nullableTime('Time at which the last contender ended. Null until then.'),
  },
);
export type Race = z.output<typeof race>;

const raceParam = { race_id: text('Race id.') };

export const startRace = endpoint('POST /v1/races', {
  summary: 'Start a race: the same prompt in several sessions, each in a worktree of its own',
  body: z.strictObject({
    prompt: z.string().regex(/\S/, 'is blank: enter a text').max(raceLimits.prompt),
    name: worktreeName
      .max(raceLimits.name)
      .nullish()
      .describe('Name of the race, which no other race has. Default: a generated name.'),
    cwd: optionalName(
      'Directory in a git repository. Default: the working directory of the server.',
    ),
    base_ref: gitReference.nullish().meta({
      description:
        'Branch or commit that the worktrees start from. Default: what is checked out in cwd.',
    }),
    contenders: z
      .array(
        z.strictObject({
          provider: providerId,
          agent: requestedAgent,
          model: nameOfLength(200).nullish(),
          thinking_effort: z.string().min(1).nullish(),
          permission_mode: z.string().min(1).nullish(),
          agent_mode: agentMode,
        }),
      )
      .min(raceLimits.leastContenders)
      .max(raceLimits.mostContenders)
      .describe('Agents and models, one for each session.'),
    check: goalCommand.nullish().meta({
      description:
        'Command that decides whether a contender has passed: it exits with code 0. It runs in each worktree after the turn. Default: no check.',
    }),
    max_checks: goalRounds.nullish().meta({
      description:
        'Maximum number of checks of each contender. After each failed check but the last, the output of the check becomes the next turn. Default: 1.',
    }),
    check_timeout_ms: goalCheckTime
      .nullish()
      .describe(`Time limit of each check in milliseconds. Default: ${goalLimits.defaultCheckMs}.`),
    sandbox: sessionSandbox.nullish(),
  }),
  response: race,
  errors: ['conflict'],
});

export const listRaces = endpoint('GET /v1/races', {
  summary: 'List races, newest first',
  query: pageQuery,
  response: z.array(race),
});

export const getRace = endpoint('GET /v1/races/{race_id}', {
  summary: 'Get a race with the results of its contenders',
  params: raceParam,
  response: race,
});

export const keepContender = endpoint('POST /v1/races/{race_id}/keep', {
  summary:
    'Keep the session and worktree of one contender; the other sessions are closed, and their worktrees archived and removed',
  params: raceParam,
  body: z.strictObject({
    contender: z.string().min(1).max(200).describe('Name of the contender.'),
  }),
  response: z.looseObject({
    race,
    cleanups: z.array(cleanupResult).describe('Results of the cleanups of the other worktrees.'),
  }),
  errors: ['conflict', 'session_closed'],
});

export const stopRace = endpoint('POST /v1/races/{race_id}/stop', {
  summary:
    'Stop a race: its running turns are interrupted and its checks killed; a race that has ended is returned unchanged',
  params: raceParam,
  body: z.strictObject({}),
  response: race,
});
