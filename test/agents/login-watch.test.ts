import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import type { AuthStatus } from '../../src/api/providers.ts';
import type { Client } from '../../src/client/client.ts';
import { LOGIN_MS, LoginWatch } from '../../src/agents/login-watch.ts';
import { failed } from '../../src/agents/provider.ts';
import { hasProc } from '../../src/core/lib/platform.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/providers/calls.ts';
import { putProgram } from '../support/providers/demo-agents.ts';
import { testRuntime } from '../support/runtime.ts';
import { testDirectory } from '../support/temp.ts';

const yes: AuthStatus = { authenticated: true, mode: 'account', detail: 'yes' };
const no: AuthStatus = { authenticated: false, mode: 'not_configured', detail: 'no' };

/** A watch whose requests for the login state the test answers. */
function watched() {
  const clock = new ManualClock();
  const asked: PromiseWithResolvers<AuthStatus>[] = [];
  const watch = new LoginWatch(clock, () => {
    const next = Promise.withResolvers<AuthStatus>();
    asked.push(next);
    return next.promise;
  });
  return { clock, asked, watch };
}

test('A login state is returned at once, read once at a time, and read again after a minute.', async () => {
  const { clock, asked, watch } = watched();
  expect(watch.get().authenticated).toBeNull();
  watch.get();
  expect(asked).toHaveLength(1);
  asked[0]?.resolve(no);
  await until('the answer is kept', () => watch.get().authenticated === false);
  const seen = { ...no, checked_at: clock.now() };
  clock.advance(59_000);
  expect(watch.get()).toEqual({ ...seen, is_stale: false });
  expect(asked).toHaveLength(1);
  clock.advance(1000);
  expect(watch.get()).toEqual({ ...seen, is_stale: true });
  expect(asked).toHaveLength(2);
});

test('A login state that cannot be read again keeps its time and is read again after a minute.', async () => {
  const { clock, asked, watch } = watched();
  watch.get();
  asked[0]?.resolve(no);
  await until('the answer is kept', () => watch.get().authenticated === false);
  const old = { ...no, checked_at: clock.now(), is_stale: true };
  clock.advance(60_000);
  watch.get();
  asked[1]?.reject(new Error('cannot be read'));
  await expect(asked[1]?.promise).rejects.toThrow('cannot be read');
  clock.advance(59_000);
  expect(watch.get()).toEqual(old);
  expect(asked).toHaveLength(2);
  clock.advance(1000);
  expect(watch.get()).toEqual(old);
  expect(asked).toHaveLength(3);
  asked[2]?.resolve(yes);
  await until('the new answer is kept', () => watch.get().authenticated === true);
  expect(watch.get()).toEqual({ ...yes, checked_at: clock.now(), is_stale: false });
  // A change of the login makes the state stale at once.
  watch.forget();
  expect(watch.get()).toMatchObject({ authenticated: true, is_stale: true });
});

test('A login state that was never read is unknown and not stale.', async () => {
  const { clock, asked, watch } = watched();
  watch.get();
  asked[0]?.reject(new Error('cannot be read'));
  clock.advance(120_000);
  expect(watch.get()).toMatchObject({ authenticated: null, checked_at: null, is_stale: false });
});

const situation = { id: 'claude', hasOwnHome: false, from: {}, given: {} } as const;

test('A login state that was read before a login or a turn changed it is dropped.', async () => {
  const { asked, watch } = watched();
  watch.get();
  watch.set(yes);
  asked[0]?.resolve(no);
  await asked[0]?.promise;
  expect(watch.get()).toMatchObject(yes);
  watch.ended(failed('auth_required', 'log in'), situation);
  expect(watch.get()).toMatchObject({
    authenticated: false,
    detail: expect.stringContaining('"claude auth login"') as string,
  });
  watch.ended({ status: 'completed', error: null }, situation);
  expect(watch.get().authenticated).toBe(true);
});

const provider = async (client: Client, id: string) =>
  (await client.call(endpoints.listProviders, {})).find((one) => one.id === id);

/** An app-server that only supports the requests for an account. */
const APP_SERVER = `
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\\([0-9][0-9]*\\).*/\\1/p')
  case "$line" in
    *'"initialize"'*) printf '{"id":%s,"result":{"userAgent":"codex/1.0.0 (x)"}}\\n' "$id" ;;
    *account/read*) printf '{"id":%s,"result":{"account":null,"requiresOpenaiAuth":%s}}\\n' "$id" "$(cat needed)" ;;
  esac
done`;

test('Providers show whether claude and codex are logged in, as their programs report it.', async () => {
  const own = testDirectory('logins');
  const file = (name: string) => path.join(own, name);
  fs.writeFileSync(file('claude-says'), '{"loggedIn": false}');
  fs.writeFileSync(file('codex-says'), 'Not logged in');
  fs.writeFileSync(file('needed'), 'true');
  putProgram(own, 'claude', `cd ${own}; [ "$*" = "auth status --json" ] && cat claude-says`);
  putProgram(
    own,
    'codex',
    `cd ${own}
[ "$*" = "login status" ] && { cat codex-says >&2; ! grep -q Not codex-says; exit; }${APP_SERVER}`,
  );
  const providers = {
    claude: { command: file('claude') },
    codex: { command: file('codex') },
  };
  const { client } = await testRuntime({ asksLogins: true, config: { providers } });
  const claude = async () => provider(client, 'claude');
  const codex = async () => provider(client, 'codex');
  await expectEventually(claude).toMatchObject({
    healthy: true,
    logged_in: false,
    detail: expect.stringContaining('not logged in: run "claude auth login"'),
  });
  await expectEventually(codex).toMatchObject({
    healthy: true,
    logged_in: false,
    detail: expect.stringContaining('not logged in: run "codex login"'),
  });
  expect(await client.call(endpoints.getHealth, {})).toMatchObject({ status: 'ok' });
  fs.writeFileSync(file('claude-says'), '{"loggedIn": true, "authMethod": "claude.ai"}');
  fs.writeFileSync(file('needed'), 'false');
  // A request for the login status always reads it again, and lists show the result.
  await client.call(endpoints.getClaudeAuthStatus, {});
  expect(await claude()).toMatchObject({ logged_in: true, detail: 'ready' });
  await client.call(endpoints.getCodexAuthStatus, {});
  // The models that codex is configured with need no login.
  expect(await codex()).toMatchObject({ logged_in: true, detail: 'ready' });
});

test('A login program that hangs is killed, delays no request, and leaves the login unknown.', async () => {
  const own = testDirectory('logins');
  const pid = path.join(own, 'pid');
  putProgram(own, 'claude', `echo $$ > ${pid}.new; mv ${pid}.new ${pid}; exec sleep 1000`);
  const clock = new ManualClock();
  const { client } = await testRuntime({
    clock,
    asksLogins: true,
    config: { providers: { claude: { command: path.join(own, 'claude') } } },
  });
  expect(await provider(client, 'claude')).toMatchObject({ healthy: true, logged_in: null });
  await until('it runs', () => fs.existsSync(pid));
  const started = fs.readFileSync(pid, 'utf8').trim();
  clock.advance(LOGIN_MS);
  await until('it is killed', () => !fs.existsSync(`/proc/${started}`));
  expect(await provider(client, 'claude')).toMatchObject({ healthy: true, logged_in: null });
});

test.skipIf(!hasProc)(
  'A login program that leaves a process behind, which has its output, does not delay its answer.',
  async () => {
    const own = testDirectory('logins');
    putProgram(
      own,
      'claude',
      `setsid sleep 1000 & echo '{"loggedIn": true, "authMethod": "claude.ai"}'`,
    );
    const { client } = await testRuntime({
      config: { providers: { claude: { command: path.join(own, 'claude') } } },
    });
    expect(await client.call(endpoints.getClaudeAuthStatus, {})).toMatchObject({
      authenticated: true,
    });
  },
);
