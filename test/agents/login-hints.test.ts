import { expect, test } from 'vitest';
import { outcomeOf as claudeOutcome } from '../../src/agents/claude/outcome.ts';
import { readAccount } from '../../src/agents/codex/provider.ts';
import { outcomeOf as codexOutcome } from '../../src/agents/codex/outcome.ts';
import type { LoginSituation } from '../../src/agents/login-watch.ts';

const saidBy = {
  'claude, when a turn fails': (at: LoginSituation) =>
    claudeOutcome({ type: 'result', is_error: true, result: 'Not logged in' }, at).error?.message,
  'codex, when a turn fails': (at: LoginSituation) =>
    codexOutcome(
      {
        turn: {
          id: 't',
          status: 'failed',
          error: { message: 'x', codexErrorInfo: 'unauthorized' },
        },
      },
      null,
      at,
    ).error?.message,
  'codex, when it is asked': (at: LoginSituation) =>
    readAccount({ account: null, requiresOpenaiAuth: true }, at).detail,
};

const situation = (id: string, more: Partial<LoginSituation> = {}): LoginSituation => ({
  id: id.startsWith('claude') ? 'claude' : 'codex',
  hasOwnHome: false,
  from: {},
  given: {},
  ...more,
});

test.for(Object.entries(saidBy))(
  'The login hint names the command for the home in use: %s.',
  ([who, hint]) => {
    expect(hint(situation(who))).toMatch(
      /run "(claude auth|codex) login" as the user who runs cadre/,
    );
    const own = hint(situation(who, { hasOwnHome: true }));
    expect(own).toMatch(/: run cadre providers login (claude|codex)$/);
    expect(own).not.toMatch(/ login"/);
  },
);

test.for(Object.entries(saidBy))(
  'The login hint names a key of the server that is not passed on, with the setting that passes it: %s.',
  ([who, hint]) => {
    const [id, key, url] = who.startsWith('claude')
      ? ['claude', 'ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL']
      : ['codex', 'OPENAI_API_KEY', 'OPENAI_BASE_URL'];
    const from = { [key]: 'sk-secret', [url]: 'http://gateway' };
    const both = hint(situation(who, { from }));
    expect(both).toContain(
      `; or use ${key} and ${url}, which are set where the server runs and not passed on: add pass_env = ["${key}", "${url}"] to [providers.${id}]`,
    );
    expect(both).not.toContain('sk-secret');
    const one = hint(situation(who, { from, given: { [url]: 'http://gateway' } }));
    expect(one).toContain(`${key}, which is set where the server runs`);
    expect(hint(situation(who, { from, given: from }))).not.toContain('pass_env');
  },
);

test('The login hint names the variable that the configuration of codex requires.', () => {
  const turn = {
    id: 't',
    status: 'failed',
    error: { message: 'Missing environment variable: `GATEWAY_KEY`.' },
  };
  const said = (from: NodeJS.ProcessEnv) =>
    codexOutcome({ turn }, null, situation('codex', { from })).error;
  const line = 'add pass_env = ["GATEWAY_KEY"] to [providers.codex]';
  expect(said({ GATEWAY_KEY: 'x' })).toEqual({
    code: 'auth_required',
    message: `codex failed: Missing environment variable: \`GATEWAY_KEY\`.: ${line}`,
  });
  expect(said({})?.message).toContain(`set the variable where the server runs, and then ${line}`);
});
