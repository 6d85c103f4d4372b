import fs from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Session } from '../../../src/api/sessions.ts';
import { cadreOn, startCadre } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { png as picture } from '../../support/providers/png.ts';
import { withRuntime, testRuntime } from '../../support/runtime.ts';
import { startServer, testServer } from '../../support/server.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';
import { openSession, runTurn, send } from '../../support/turns.ts';
import { makeRepository } from '../../support/worktrees/work.ts';

const server = sharedDemo();

test('The prompt consists of all words of the command line, and the piped text below them.', async () => {
  const cadre = cadreOn(server());
  const ran = await cadre(['run', 'say', 'a', 'b', 'c'], { stdin: 'say from a pipe\n' });
  expect(ran).toMatchObject({ code: 0, stdout: 'a b c\nfrom a pipe\n', stderr: '' });
  const [session] = await server().client.call(endpoints.listSessions, {});
  const params = { session_id: session?.id ?? '', turn_id: session?.last_turn_id ?? '' };
  const { input } = await server().client.call(endpoints.getTurn, { params });
  expect(input).toEqual([{ type: 'text', text: 'say a b c\n\nsay from a pipe\n' }]);
  const alone = await cadre(['run'], { stdin: 'say alone' });
  expect(alone).toMatchObject({ code: 0, stdout: 'alone\n' });
});

test('The option --image adds one image each time, in run and in sessions send.', async () => {
  const { directory } = server();
  const cadre = cadreOn(server());
  for (const name of ['a.png', 'b.png'])
    fs.writeFileSync(path.join(directory, name), picture(2, 2));
  const ran = await cadre(['run', '--image', 'a.png', '--image', 'b.png', 'image']);
  expect(ran.stdout).toMatch(/^images: 2 \(image\/png/);
  const sent = await cadre(['sessions', 'send', '--image', 'a.png', await newest(), 'image']);
  expect(sent.stdout).toMatch(/^images: 1 /);
});

test('The title, notices and slash commands of an agent are shown as text and as JSON.', async () => {
  const cadre = cadreOn(server());
  const ran = await cadre(['run', 'notice mind the gap; title My work; commands plan; say hi']);
  expect(ran).toMatchObject({ stdout: 'hi\n', stderr: '[notice] mind the gap\n' });
  const id = await newest();
  expect((await cadre(['sessions', 'show', id])).stdout).toContain('! notice: mind the gap');
  const markdown = await cadre(['sessions', 'show', id, '--markdown']);
  expect(markdown.stdout).toContain('- notice: mind the gap');
  const shown = await cadre(['sessions', 'show', id, '--json']);
  expect(JSON.parse(shown.stdout)).toMatchObject({
    session: { title: 'My work', title_source: 'agent' },
    notices: [{ kind: 'session.notice', payload: { code: 'notice', message: 'mind the gap' } }],
  });
  const commands = await cadre(['sessions', 'commands', id, '--padded']);
  expect(commands.stdout).toMatch(/^COMMAND +DESCRIPTION\n\/plan anything +Does nothing/);
  expect(JSON.parse((await cadre(['sessions', 'commands', id, '--json'])).stdout)).toEqual([
    { name: 'plan', description: 'Does nothing: this is a demo', hint: 'anything' },
  ]);
});

test('cadre run -c continues the latest session of the directory, and --session continues any session.', async () => {
  const here = path.join(server().directory, 'here');
  fs.mkdirSync(here);
  const cadre = cadreOn(server());
  expect(await cadre(['run', '-c', 'history'], { cwd: here })).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^cadre: there is no open session in .*here: start a session/),
  });
  await cadre(['run', 'say first'], { cwd: here });
  const id = await newest();
  await cadre(['run', 'say elsewhere']);
  const again = await cadre(['run', '-c', 'history'], { cwd: here });
  expect(again.stdout).toBe('earlier turns: 1; last prompt: say first\n');
  const named = await cadre(['run', '--session', id.slice(-8), 'history']);
  expect(named.stdout).toContain('earlier turns: 2');
  const wrong = await cadre(['run', '-c', '--title', 'new', 'hello'], { cwd: here });
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--title applies only to a'),
  });
});

test('The options of cadre sessions create set the sandbox of the session.', async () => {
  const { directory } = server();
  const cadre = cadreOn(server());
  const create = async (...options: string[]) => {
    const { stdout } = await cadre(['sessions', 'create', '--json', ...options], {
      cwd: directory,
    });
    return (JSON.parse(stdout) as Session).sandbox;
  };
  const required = { mode: 'require', hosts: [], write: [] };
  expect(await create()).toBeUndefined();
  expect(await create('--sandbox')).toEqual(required);
  expect(await create('--sandbox', 'auto')).toEqual({ ...required, mode: 'auto' });
  expect(
    await create('--network', 'ask', '--allow-host', 'a.test', '--allow-host', 'b.test:1'),
  ).toEqual({ ...required, network: 'ask', hosts: ['a.test', 'b.test:1'] });
  expect(await create('--writable', 'cache')).toEqual({
    ...required,
    write: [path.join(directory, 'cache')],
  });
  expect(await cadre(['sessions', 'create', '--allow-host', 'https://a.test'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('has to be a host, such as example.com'),
  });
});

test('cadre run -c continues the latest session in a worktree of the repository if the directory has none.', async () => {
  const { client, directory } = server();
  const cadre = cadreOn(server());
  const repo = makeRepository(path.join(directory, 'shop'));
  const below = path.join(repo, 'src');
  fs.mkdirSync(below);
  const other = makeRepository(path.join(directory, 'shop', 'vendor'));
  await cadre(['run', '--worktree', 'one', 'say first'], { cwd: repo });
  const words = await cadre(['run', '--worktree', 'say second'], { cwd: repo });
  expect(words).toMatchObject({ code: 0, stdout: 'second\n' });
  const {
    id,
    cwd: tree,
    worktree_id,
  } = await client.call(endpoints.getSession, {
    params: { session_id: await newest() },
  });
  expect(worktree_id).not.toBe(null);
  for (const cwd of [repo, below, tree]) {
    const again = await cadre(['run', '-c', 'say again'], { cwd });
    expect(again).toMatchObject({ code: 0, stdout: 'again\n' });
    const [latest] = await client.call(endpoints.listTurns, {
      params: { session_id: id },
      query: { limit: 1 },
    });
    expect(latest?.input).toEqual([{ type: 'text', text: 'say again' }]);
  }
  expect((await cadre(['run', '-c', 'history'], { cwd: other })).code).toBe(3);
  await cadre(['run', 'say here'], { cwd: repo });
  const exact = await cadre(['run', '-c', 'history'], { cwd: repo });
  expect(exact.stdout).toBe('earlier turns: 1; last prompt: say here\n');
});

test('cadre run -v shows thoughts, plans and the output of tools while they arrive.', async () => {
  const script = 'think hard; plan a | b; tool look => three\nlines; say done';
  const ran = await cadreOn(server())(['run', '-v', script]);
  expect(ran.stdout).toBe('done\n');
  expect(ran.stderr.split('\n')).toEqual([
    'hard',
    '[plan] in_progress: a',
    '[plan] pending: b',
    '[plan] completed: a',
    '[plan] in_progress: b',
    '[plan] completed: b',
    '[started] look',
    'three',
    '[done] look',
    '',
  ]);
});

const newest = async () => {
  const [session] = await server().client.call(endpoints.listSessions, { query: { limit: 1 } });
  return (session as Session).id;
};

const ownServer = sharedDemo();

test('A list that is cut reports on stderr that more exist, but not with --json.', async () => {
  const cadre = cadreOn(ownServer());
  for (const name of ['a', 'b', 'c']) await cadre(['run', `say ${name}`]);
  const cut = await cadre(['sessions', 'list', '--limit', '2']);
  expect(cut.stdout.trimEnd().split('\n')).toHaveLength(2);
  expect(cut.stderr).toBe('cadre: the first 2 are shown, and more exist: pass --limit 500\n');
  expect((await cadre(['sessions', 'list', '--limit', '2', '--json'])).stderr).toBe('');
  expect((await cadre(['sessions', 'list'])).stderr).toBe('');
  const [newest] = await ownServer().client.call(endpoints.listSessions, { query: {} });
  const turns = await cadre(['sessions', 'turns', newest?.id ?? '', '--limit', '1']);
  expect(turns.stderr).toBe('');
});

test('A conversation is shown completely with collapsed tools, as text, JSON and Markdown.', async () => {
  const { client, directory } = ownServer();
  const cadre = cadreOn(ownServer());
  const { id } = await openSession(client, directory);
  await runTurn(client, id, 'say one; tool look => at this');
  await runTurn(client, id, 'say two');
  const shown = await cadre(['sessions', 'show', id]);
  expect(shown.stdout).toBe(
    '> say one; tool look => at this\n\none\n\n✓ look\n\n> say two\n\ntwo\n',
  );
  const last = await cadre(['sessions', 'show', id, '--turns', '1']);
  expect(last.stdout).toBe('> say two\n\ntwo\n');
  expect((await cadre(['sessions', 'show', id, '--full'])).stdout).toContain('at this\n');
  const markdown = await cadre(['sessions', 'show', id, '--markdown']);
  expect(markdown.stdout).toMatch(/^## You\n\nsay one; .*\n\n## Agent\n\none\n/);
  const document = (await cadre(['--json', 'sessions', 'show', id])).json();
  expect(document).toMatchObject({
    session: { id },
    turns: [{ items: [{ text: 'one' }, { kind: 'tool' }] }, { items: [{ text: 'two' }] }],
    approvals: [],
  });
});

test('A renamed session is found by its new title.', async () => {
  const { client, directory } = ownServer();
  const cadre = cadreOn(ownServer());
  const { id } = await openSession(client, directory, { title: 'old' });
  const renamed = await cadre(['sessions', 'rename', id, 'the new one']);
  expect(renamed.stdout).toBe(`Renamed session ${id} to "the new one"\n`);
  const got = await cadre(['--json', 'sessions', 'get', 'the new one']);
  expect(got.json()).toMatchObject({ id, title: 'the new one' });
});

test('cadre sessions wait waits for one or all sessions, with a time limit, and ends as the turns ended.', async () => {
  const { client, directory } = ownServer();
  const cadre = cadreOn(ownServer());
  const [good, bad, busy] = await Promise.all(
    [1, 2, 3].map(async () => (await openSession(client, directory)).id),
  );
  await Promise.all([runTurn(client, good ?? '', 'say x'), runTurn(client, bad ?? '', 'fail y')]);
  await send(client, busy ?? '', 'silent');
  const done = await cadre(['sessions', 'wait', good ?? '']);
  expect(done).toMatchObject({ code: 0, stdout: expect.stringMatching(/\tready\tcompleted\n$/) });
  const both = await cadre(['--json', 'sessions', 'wait', good ?? '', bad ?? '']);
  expect([both.code, both.json()]).toMatchObject([
    1,
    [
      { session_id: good, turn: { status: 'completed' } },
      { session_id: bad, turn: { status: 'failed' } },
    ],
  ]);
  const any = await cadre(['sessions', 'wait', '--any', busy ?? '', good ?? '']);
  expect(any.code).toBe(0);
  const late = await cadre(['sessions', 'wait', busy ?? '', '--timeout', '50ms']);
  expect([late.code, late.stderr]).toEqual([
    8,
    'cadre: a turn of the session is still running after 50ms\n',
  ]);
  const until = startCadre(directory, ['--data-dir', directory, 'sessions', 'wait', busy ?? '']);
  await expectEventually(followers).toBeGreaterThan(0);
  const { active_turn_id } = await client.call(endpoints.getSession, {
    params: { session_id: busy ?? '' },
  });
  const params = { session_id: busy ?? '', turn_id: active_turn_id ?? '' };
  await client.call(endpoints.interruptTurn, { params, body: {} });
  expect((await until.ended).code).toBe(1);
});

const followers = async () =>
  (await ownServer().client.call(endpoints.getDiagnostics, {})).streams.followers;

const ready = { enabled: true, command: '/bin/true' };
const absent = { enabled: false };
const provider = async (
  server: { directory: string },
  env: Record<string, string> = {},
  args: string[] = [],
) => {
  const ended = await cadreOn(server)(['--json', 'sessions', 'create', ...args], { env });
  if (ended.code !== 0) return `${ended.code}: ${ended.stderr}`;
  const { provider: id, model, thinking_effort, permission_mode } = ended.json() as Session;
  return { id, model, thinking_effort, permission_mode };
};

test('Several ready providers are an error, unless a variable, the file or a flag names one.', async () => {
  const server = await testRuntime({
    config: { providers: { acp: absent, claude: ready, codex: ready } },
  });
  expect(await provider(server)).toMatch(
    /^2: .*several providers are ready \(claude, codex\): pass --provider, set CADRE_DEFAULTS_PROVIDER, or set provider under \[defaults\] in /,
  );
  const variable = { CADRE_DEFAULTS_PROVIDER: 'codex', CADRE_DEFAULTS_MODEL: 'm1' };
  const byVariable = await provider(server, variable);
  expect(byVariable).toMatchObject({ id: 'codex', model: 'm1' });
  // The default model belongs to codex.
  const byFlag = await provider(server, variable, ['--provider', 'claude']);
  expect(byFlag).toMatchObject({ id: 'claude', model: null });
  const wrong = await provider(server, { CADRE_DEFAULTS_PROVIDER: 'gpt' });
  expect(wrong).toMatch(/^2: .*defaults\.provider.*environment CADRE_DEFAULTS_PROVIDER/);
  const file = path.join(server.directory, 'mine.toml');
  fs.writeFileSync(
    file,
    '[defaults]\nprovider = "claude"\nmodel = "opus"\neffort = "high"\npermission_mode = "plan"\n',
  );
  const env = { CADRE_CONFIG: file, CADRE_DATA_ROOT_DIR: server.directory };
  expect(await provider(server, env)).toEqual({
    id: 'claude',
    model: 'opus',
    thinking_effort: 'high',
    permission_mode: 'plan',
  });
  const flags = ['--model', 'haiku', '--effort', 'low', '--permission-mode', 'default'];
  expect(await provider(server, env, flags)).toEqual({
    id: 'claude',
    model: 'haiku',
    thinking_effort: 'low',
    permission_mode: 'default',
  });
});

test('The provider of the server configuration is used, and with --demo the demo agent.', async () => {
  await withRuntime(
    async (server) => expect(await provider(server)).toMatchObject({ id: 'codex' }),
    { config: { defaults: { provider: 'codex' }, providers: { claude: ready, codex: ready } } },
  );
  const place = testDirectory('bin');
  for (const name of ['claude', 'codex']) fs.symlinkSync('/bin/true', path.join(place, name));
  const PATH = `${place}:${process.env.PATH}`;
  const server = await testServer({ env: { PATH } });
  return expect(await provider(server)).toMatchObject({ id: 'acp' });
});

test('Without a ready provider, the error names the installed agents.', async () => {
  await using place = installed('opencode', 'gemini');
  const env = { PATH: `${place.path}:${process.env.PATH}` };
  const server = await testRuntime({
    config: { providers: { acp: absent, claude: absent, codex: absent } },
  });
  const said = await provider(server, env);
  expect(said).toMatch(/^1: .*"code":"provider_unavailable"/);
  const { code, stdout, stderr } = await cadreOn(server)(['run', 'hello'], { env });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^cadre: no provider is ready\n {2}acp: disabled: /);
  expect(stderr).toMatch(/found on PATH: .*opencode, gemini/);
  expect(stderr).not.toContain('--agent');
});

test('Without a ready provider, the error names the --agent option for an agent that the server finds.', async () => {
  await using place = installed('gemini');
  const env = { PATH: `${place.path}:${process.env.PATH}` };
  vi.stubEnv('PATH', env.PATH);
  const server = await testRuntime({ config: { providers: { claude: absent, codex: absent } } });
  const { stderr } = await cadreOn(server)(['run', 'hello'], { env });
  expect(stderr).toMatch(/pass --agent gemini; .*\n {2}\[defaults\]\n {2}agent = "gemini"\n/);
});

/** A directory with programs of these names. */
function installed(...names: string[]) {
  const place = tempDirectory('bin');
  for (const name of names) fs.symlinkSync('/bin/true', path.join(place.path, name));
  return place;
}

test('A run without a terminal ends after --reconnect with 6 and the next step.', async () => {
  await using directory = tempDirectory('server');
  const server = await startServer(directory.path);
  const args = ['run', '--reconnect', '200ms', 'say soon; silent'];
  const run = startCadre(directory.path, ['--data-dir', directory.path, ...args]);
  await run.until('soon');
  const [session] = await server.client.call(endpoints.listSessions, {});
  await server.end('SIGKILL');
  const { code, stderr } = await run.ended;
  expect(code).toBe(6);
  expect(stderr).toBe(
    'cadre: connection lost: reconnecting\n' +
      'cadre: the server has not answered for 200ms: when the server runs again, see the result with ' +
      `cadre sessions show ${session?.id.slice(-8)}\n`,
  );
});
