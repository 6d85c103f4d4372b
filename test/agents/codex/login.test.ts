import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { anError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import { testDirectory } from '../../support/temp.ts';
import { until } from '../../support/providers/calls.ts';
import {
  type CodexBehavior,
  sharedRawCodex,
  testRawCodex,
} from '../../support/providers/raw-codex.ts';

const on = sharedRawCodex();

const body = { api_key: 'sk-of-a-test' };
const tokens = { id_token: 'an-id', access_token: 'an-access', refresh_token: 'a-refresh' };
const imported = { auth_json: { OPENAI_API_KEY: null, tokens, last_refresh: 'today' } };

test('A change of the login of the user is refused with the command that changes it.', async () => {
  const { client } = on({});
  for (const change of [
    () => client.call(endpoints.setCodexApiKey, { body }),
    () => client.call(endpoints.importCodexLogin, { body: imported }),
    () => client.call(endpoints.endCodexLogin, {}),
  ]) {
    await expect(change()).rejects.toMatchObject(anError('provider_managed', 'codex login'));
  }
});

test.for([
  [{ account: null, requiresOpenaiAuth: true }, false, 'not_configured', 'codex login'],
  [{ account: null, requiresOpenaiAuth: false }, true, 'not_needed', 'do not need a codex login'],
  [{ account: { type: 'apiKey' }, requiresOpenaiAuth: true }, true, 'api_key', 'API key'],
  [{ account: { type: 'chatgpt', email: 'a@b' } }, true, 'account', 'account'],
  [{ account: { type: 'amazonBedrock' } }, true, 'agent_managed', 'amazonBedrock'],
] as const)(
  'The login status shows the kind of the account %j.',
  async ([account, authenticated, mode, words]) => {
    const { client } = on({ requests: { 'account/read': () => account } });
    const status = await client.call(endpoints.getCodexAuthStatus, {});
    expect(status).toMatchObject({ authenticated, mode });
    expect(status.detail).toContain(words);
    expect(status.detail).not.toContain('a@b');
  },
);

/** An app-server that stores the key of a login. */
function keeper(): CodexBehavior {
  let key: unknown = null;
  return {
    requests: {
      'account/read': () => ({
        account: key ? { type: 'apiKey' } : null,
        requiresOpenaiAuth: true,
      }),
      'account/login/start'({ type, apiKey }) {
        key = type === 'apiKey' ? apiKey : null;
        return { type };
      },
      'account/logout'() {
        key = null;
      },
    },
  };
}

test('A key is sent to codex on stdin, kept in a private home, and removed by the logout.', async () => {
  const own = testDirectory('home');
  const home = join(own, 'private');
  const {
    client,
    agents,
    given: { url, token },
  } = await testRawCodex(keeper(), { codex: { home } });
  const set = await client.call(endpoints.setCodexApiKey, { body });
  expect(set).toMatchObject({ authenticated: true, mode: 'api_key' });
  const providers = await client.call(endpoints.listProviders, {});
  const seen = { logged_in: true, login_is_stale: false };
  expect(providers.find(({ id }) => id === 'codex')).toMatchObject(seen);
  expect(JSON.stringify(set)).not.toContain(body.api_key);
  const [server] = agents;
  expect(server?.env.CODEX_HOME).toBe(home);
  expect(statSync(home).mode & 0o777).toBe(0o700);
  expect(JSON.stringify([server?.args, server?.env])).not.toContain(body.api_key);

  const keyed = await fetch(new URL('/v1/providers/codex/auth/api-key', url), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': 'k',
    },
    body: JSON.stringify(body),
  });
  expect(keyed.status).toBe(400);

  const ended = await client.call(endpoints.endCodexLogin, {});
  expect(ended).toMatchObject({ authenticated: false, mode: 'not_configured' });
  expect(server?.requests('account/logout')).toHaveLength(1);
});

test('The next turn of each session uses an imported login.', async () => {
  const own = testDirectory('home');
  const home = join(own, 'private');
  const { open, client, agents } = await testRawCodex(
    { turns: { go: (turn) => turn.say('half') } },
    { codex: { home } },
  );
  const [idle, busy] = [await open(), await open()];
  await idle.run('x');
  const running = await busy.send('go');
  await busy.watch.kind('message.delta', running);
  const status = await client.call(endpoints.importCodexLogin, { body: imported });
  expect(JSON.stringify(status)).not.toContain('an-access');
  const file = join(home, 'auth.json');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(imported.auth_json);
  expect(statSync(file).mode & 0o777).toBe(0o600);

  expect((await idle.run('y')).text).toBe('y');
  const [old, next] = agents;
  expect(agents).toHaveLength(2);
  expect(next?.requests('thread/resume')).toHaveLength(1);
  old?.turns.at(-1)?.complete();
  expect((await busy.watch.end(running)).kind).toBe('turn.completed');
  await until('the old one is gone', () => old?.gone === true);
  expect((await busy.run('z')).text).toBe('z');
  expect(agents).toHaveLength(2);
});

test.for<[string, Record<string, unknown>]>([
  ['nothing', {}],
  ['an empty key', { OPENAI_API_KEY: '' }],
  ['only some of the tokens', { tokens: { access_token: 'an-access' } }],
])('An import of a login with %s is refused and writes no file.', async ([, auth_json]) => {
  const own = testDirectory('home');
  const home = join(own, 'private');
  mkdirSync(home);
  const { client } = await testRawCodex({}, { codex: { home } });
  await expect(
    client.call(endpoints.importCodexLogin, { body: { auth_json } }),
  ).rejects.toMatchObject(anError('invalid', /^body\.auth_json: .*OPENAI_API_KEY/));
  expect(() => statSync(join(home, 'auth.json'))).toThrow('ENOENT');
});

test('A home that cannot be created fails the login with the name of its setting.', async () => {
  const { client } = await testRawCodex({}, { codex: { home: '/dev/null/home' } });
  await expect(client.call(endpoints.setCodexApiKey, { body })).rejects.toMatchObject(
    anError('provider_unavailable', 'providers.codex.home'),
  );
});

test('Codex receives keys that pass_env names, and the login status names the other keys.', async () => {
  vi.stubEnv('OPENAI_API_KEY', 'sk-of-the-server');
  vi.stubEnv('GATEWAY_KEY', 'of-the-gateway');
  const requests = { 'account/read': () => ({ account: null, requiresOpenaiAuth: true }) };
  const { client, agents } = await testRawCodex(
    { requests },
    { codex: { pass_env: ['GATEWAY_KEY'] } },
  );
  const { detail } = await client.call(endpoints.getCodexAuthStatus, {});
  expect(detail).toContain('add pass_env = ["OPENAI_API_KEY"] to [providers.codex]');
  expect(agents[0]?.env.GATEWAY_KEY).toBe('of-the-gateway');
  expect(agents[0]?.env).not.toHaveProperty('OPENAI_API_KEY');
});
