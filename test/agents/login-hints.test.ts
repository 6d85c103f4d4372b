import { expect, test } from 'vitest';
import { outcomeOf as claudeOutcome } from '../../src/agents/claude/outcome.ts';
import { readAccount } from '../../src/agents/codex/login.ts';
import { outcomeOf as codexOutcome } from '../../src/agents/codex/outcome.ts';

const saidBy = {
  'claude, when a turn fails': (hasOwnHome: boolean) =>
    claudeOutcome({ type: 'result', is_error: true, result: 'Not logged in' }, hasOwnHome).error
      ?.message,
  'codex, when a turn fails': (hasOwnHome: boolean) =>
    codexOutcome(
      {
        turn: {
          id: 't',
          status: 'failed',
          error: { message: 'x', codexErrorInfo: 'unauthorized' },
        },
      },
      null,
      hasOwnHome,
    ).error?.message,
  'codex, when it is asked': (hasOwnHome: boolean) =>
    readAccount({ account: null, requiresOpenaiAuth: true }, hasOwnHome).detail,
};

test.for(Object.entries(saidBy))('a login is advised for the home that is used: %s', ([, hint]) => {
  expect(hint(false)).toMatch(/run "(claude auth|codex) login" as the user who runs cadre/);
  expect(hint(true)).toMatch(/: run cadre providers login (claude|codex)$/);
  expect(hint(true)).not.toMatch(/ login"/);
});
