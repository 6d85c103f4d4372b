import { expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { failureOf } from '../../src/gateway/envelope.ts';

it.each([
  ['no team "x"; see cadre teams list', 'no team "x"; see cadre_team_status'],
  ['no process "x"; see cadre processes list', 'no process "x"; see cadre_process_status'],
  ['no session "x"; see cadre sessions list', 'no session "x"'],
  ['no worktree "x"; see cadre worktrees list', 'no worktree "x"'],
  [
    'not configured: add a section with a command, or try cadre serve --demo',
    'not configured: add a section with a command',
  ],
  ['cadre is stopping', 'cadre is stopping'],
])('An agent is sent to no command of people: %s', (said, told) => {
  expect(failureOf(new AppError('not_found', said))?.error.message).toBe(told);
});
