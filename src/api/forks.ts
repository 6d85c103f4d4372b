import { z } from 'zod';
import { nameOfLength, optionalFlag } from './common.ts';
import { endpoint } from './endpoint.ts';
import { session, sessionParam } from './sessions.ts';
import { sessionWorktree } from './worktrees.ts';

const turnOf = (what: string) =>
  z.string().min(1).max(200).describe(`${what} The turn must have the status \`completed\`.`);

const titleOf = (byDefault: string) =>
  nameOfLength(200).nullish().describe(`Title of the new session. Default: ${byDefault}.`);

export const forkSession = endpoint('POST /v1/sessions/{session_id}/fork', {
  summary:
    'Fork a session: a new session with the same agent and the same history up to a turn; the session itself does not change',
  params: sessionParam,
  body: z.strictObject({
    turn_id: turnOf('Last turn of the history. Default: the newest completed turn.').nullish(),
    title: titleOf('the title of the session, followed by " (fork)"'),
    worktree: z
      .union([z.literal(true), sessionWorktree])
      .nullish()
      .meta({
        description:
          'Git worktree that the new session claims, as when a session is created. Default: the directory and the worktree of the session.',
      }),
    files: optionalFlag(
      'Whether the new worktree gets the files from the end of the turn, by its file snapshot. Requires `worktree`. Default: false.',
    ),
  }),
  response: session,
  errors: ['conflict', 'turn_in_progress', 'provider_unavailable'],
});

export const rewindSession = endpoint('POST /v1/sessions/{session_id}/rewind', {
  summary:
    'Rewind a session to an earlier turn: a fork of the session continues in its place, and the session is closed',
  params: sessionParam,
  body: z.strictObject({
    turn_id: turnOf('Turn to rewind to.'),
    title: titleOf('the title of the session'),
    files: optionalFlag(
      'Whether the files in the directory of the session are restored to the end of the turn, by its file snapshot. Default: false.',
    ),
  }),
  response: session.describe('The new session.'),
  errors: ['conflict', 'turn_in_progress', 'session_closed', 'provider_unavailable'],
});
