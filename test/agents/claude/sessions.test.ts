import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { anError, expectError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import { testDirectory } from '../../support/temp.ts';
import {
  type RawClaude,
  type ClaudeBehavior,
  sharedRawClaude,
  testRawClaude,
} from '../../support/providers/raw-claude.ts';

const on = sharedRawClaude();

const never = () => new Promise<never>(() => undefined);
const onIdle = sharedRawClaude({ providers: { idle_timeout_ms: 1 } });

/** A claude that has no session to resume, and reports that on stderr only. */
const forgetful: ClaudeBehavior = {
  begins(claude) {
    if (!claude.args.some((one) => one.startsWith('--resume='))) return;
    claude.stderr('No conversation found with session ID: it\n');
    claude.exit(1);
  },
  requests: { initialize: (_, { args }) => (args.join().includes('--resume') ? never() : {}) },
};

test('A session that is missing in claude fails with its turn and the error of claude.', async () => {
  const { firstTurn, noAgents } = onIdle(forgetful);
  const { session } = await firstTurn('first');
  await noAgents();
  const { error } = await session.run('second');
  expect(error?.code).toBe('resume_failed');
  expect(error?.message).toContain('No conversation found');
  expect(await session.record()).toMatchObject({ status: 'failed' });
});

test('A session without an answer so far is opened anew under the same id.', async () => {
  const { firstTurn, noAgents, agents } = onIdle({
    ...forgetful,
    turns: { go: (claude) => claude.result() },
  });
  const { session } = await firstTurn('go');
  await noAgents();
  expect((await session.run('second')).text).toBe('second');
  const { provider_session_ref: ref } = await session.record();
  const starts = agents.map(({ args }) => args.find((one) => one.includes(String(ref))));
  expect(starts).toEqual([`--session-id=${ref}`, `--resume=${ref}`, `--session-id=${ref}`]);
});

test('A claude that exits at its start fails the turn with its stderr, and the session stays ready.', async () => {
  let starts = 0;
  const begins: ClaudeBehavior['begins'] = (claude) => {
    if (++starts > 1) return;
    claude.stderr('bad option\n');
    claude.exit(2);
  };
  const requests = { initialize: () => (starts > 1 ? {} : never()) };
  const { firstTurn, diagnostics } = on({ begins, requests });
  const { session, turn } = await firstTurn('x');
  expect(turn.error?.code).toBe('provider_unavailable');
  expect(turn.error?.message).toContain('exited with code 2: bad option');
  expect((await diagnostics()).last_error).toContain('bad option');
  expect((await session.run('now')).text).toBe('now');
});

test('Recovery looks for sessions among the transcripts of claude and starts no process.', async () => {
  const harness = await testRawClaude({});
  const kept = await harness.open();
  const lost = await harness.open();
  for (const session of [kept, lost]) await session.run('x');
  const project = join(harness.cwd, '.claude', 'projects', 'of-this');
  mkdirSync(project, { recursive: true });
  const { provider_session_ref: ref } = await kept.record();
  writeFileSync(join(project, `${ref}.jsonl`), '');
  const before = harness.agents.length;
  await harness.restart();
  const { sessions_failed } = await harness.recovered();
  expect(sessions_failed).toMatchObject([{ session_id: lost.id, code: 'resume_failed' }]);
  expect(harness.agents).toHaveLength(before);
});

test('A session that was killed before its first answer is not reported as lost after a restart.', async () => {
  const harness = await testRawClaude({ turns: { go: (claude) => claude.exit(1) } });
  const { session } = await harness.firstTurn('go');
  mkdirSync(join(harness.cwd, '.claude', 'projects'), { recursive: true });
  await harness.restart();
  expect((await harness.recovered()).sessions_failed).toEqual([]);
  expect(
    await harness.client.call(endpoints.getSession, { params: { session_id: session.id } }),
  ).toMatchObject({
    status: 'ready',
  });
});

test('Recovery reports no session as lost if claude has no directory for transcripts.', async () => {
  const harness = await testRawClaude({});
  await (await harness.open()).run('x');
  await harness.restart();
  expect((await harness.recovered()).sessions_failed).toEqual([]);
});

test('A model and an effort apply to their own turn, and the next turn has the defaults.', async () => {
  const { open, agents, client } = on({});
  const session = await open();
  const params = { session_id: session.id };
  for (const more of [{ model: 'opus', thinking_effort: 'high' }, {}, {}]) {
    const body = { input: [{ type: 'text' as const, text: 'x' }], ...more };
    const { turn_id } = await client.call(endpoints.sendTurn, { params, body });
    await session.watch.end(turn_id);
  }
  const [claude] = agents;
  expect(claude?.requests('set_model').map(({ model }) => model)).toEqual(['opus', 'claude-usual']);
  expect(claude?.requests('apply_flag_settings').map(({ settings }) => settings)).toEqual([
    { effortLevel: 'high' },
    { effortLevel: null },
  ]);
  const body = { input: [{ type: 'text' as const, text: 'x' }], thinking_effort: 'enormous' };
  await expectError(client.call(endpoints.sendTurn, { params, body }), 'invalid', 'low, high');
});

test('The list of models is requested from claude once.', async () => {
  const { client, agents } = await testRawClaude({});
  for (let time = 0; time < 2; time++) {
    const models = await client.call(endpoints.listModels, { params: { provider: 'claude' } });
    expect(models).toEqual([
      { id: 'opus', display_name: 'Opus', reasoning_levels: ['low', 'high'] },
    ]);
  }
  expect(agents).toHaveLength(1);
});

test('Prompts and keys are not in the arguments of claude, and its environment has no key of the server.', async () => {
  vi.stubEnv('CLAUDECODE', '1');
  vi.stubEnv('ANTHROPIC_API_KEY', 'of the server');
  const { open, agents } = await testRawClaude({});
  await (await open({ cwd: '/' })).run('a secret prompt');
  const [claude] = agents;
  expect(claude?.args.join(' ')).not.toContain('secret');
  expect(Object.keys(claude?.env ?? {})).not.toContain('CLAUDECODE');
  expect(Object.keys(claude?.env ?? {})).not.toContain('ANTHROPIC_API_KEY');
});

test('Claude receives keys that pass_env names, and a login error names the other keys.', async () => {
  vi.stubEnv('ANTHROPIC_API_KEY', 'sk-of-the-server');
  vi.stubEnv('ANTHROPIC_BASE_URL', 'http://gateway');
  const go = (claude: RawClaude) => claude.result({ is_error: true, result: 'Not logged in' });
  const { open, agents } = await testRawClaude(
    { turns: { go } },
    { claude: { pass_env: ['ANTHROPIC_API_KEY'] } },
  );
  const { error } = await (await open()).run('go');
  expect(agents[0]?.env.ANTHROPIC_API_KEY).toBe('sk-of-the-server');
  expect(agents[0]?.env).not.toHaveProperty('ANTHROPIC_BASE_URL');
  expect(error).toMatchObject(
    anError(
      'auth_required',
      /; or use ANTHROPIC_BASE_URL, which is set where the server runs and not passed on: add pass_env = \["ANTHROPIC_BASE_URL"\] to \[providers\.claude\]$/,
    ),
  );
});

test('The model sees all tools at once unless the user has chosen otherwise.', async () => {
  const seen = async (env: Record<string, string>) => {
    const { open, agents } = await testRawClaude({}, { env });
    await (await open()).run('hello');
    return agents[0]?.env.ENABLE_TOOL_SEARCH;
  };
  expect(await seen({})).toBe('false');
  expect(await seen({ ENABLE_TOOL_SEARCH: 'auto' })).toBe('auto');
});

const body = { api_key: 'sk-of-a-test' };

test('A change of the login of the user is refused with the command that changes it.', async () => {
  const { client } = on({});
  for (const change of [
    () => client.call(endpoints.setClaudeApiKey, { body }),
    () => client.call(endpoints.endClaudeLogin, {}),
  ]) {
    await expectError(change(), 'provider_managed', 'claude auth login');
  }
});

test('Claude does not receive an empty CLAUDE_CONFIG_DIR, with which it would write into its directory.', async () => {
  const { open, agents } = await testRawClaude({}, { env: { CLAUDE_CONFIG_DIR: '' } });
  await (await open()).run('x');
  expect(agents[0]?.env).not.toHaveProperty('CLAUDE_CONFIG_DIR');
});

test('A key is stored in a private home that only the user can read, and claude gets it by environment.', async () => {
  const own = testDirectory('home');
  const privateHome = join(own, 'private');
  const script = `[ -n "$ANTHROPIC_API_KEY" ] && m=api_key || m=none
    [ "$*" = "auth logout" ] || echo "{\\"loggedIn\\": $([ $m = none ] && echo false || echo true), \\"authMethod\\": \\"$m\\"}"`;
  const {
    client,
    given: { url, token },
  } = await testRawClaude(
    {},
    { claude: { command: '/bin/sh', args: ['-c', script, 'claude'], home: privateHome } },
  );
  const authStatus = () => client.call(endpoints.getClaudeAuthStatus, {});
  expect(await authStatus()).toMatchObject({ authenticated: false, mode: 'not_configured' });
  const set = await client.call(endpoints.setClaudeApiKey, { body });
  expect(set).toMatchObject({ authenticated: true, mode: 'api_key' });
  expect(set.detail).not.toContain('sk-of');
  const file = join(privateHome, 'cadre-api-key');
  expect(readFileSync(file, 'utf8').trim()).toBe(body.api_key);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(privateHome).mode & 0o777).toBe(0o700);

  const keyed = await fetch(new URL('/v1/providers/claude/auth/api-key', url), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': 'k',
    },
    body: JSON.stringify(body),
  });
  expect(keyed.status).toBe(400);

  const ended = await client.call(endpoints.endClaudeLogin, {});
  expect(ended).toMatchObject({ authenticated: false });
  expect(() => statSync(file)).toThrow('ENOENT');
});

test('The slash commands of a session are the ones that claude reports at its start.', async () => {
  const { client, firstTurn } = on({});
  const { session } = await firstTurn('hello');
  const params = { session_id: (await session.record()).id };
  expect(await client.call(endpoints.listCommands, { params })).toEqual([
    { name: 'review', description: 'reviews a change', hint: '[pr]' },
    { name: 'clear', description: 'forgets', hint: null },
  ]);
});
