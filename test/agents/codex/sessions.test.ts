import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { anError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import type { WatchedSession } from '../../support/providers/provider-harness.ts';
import { until } from '../../support/providers/calls.ts';
import {
  type CodexBehavior,
  type RawCodex,
  Refusal,
  sharedRawCodex,
  testRawCodex,
} from '../../support/providers/raw-codex.ts';

const on = sharedRawCodex();

const never = () => new Promise<never>(() => undefined);

/** Runs a turn with the given settings. */
async function runWith(client: Client, session: WatchedSession, settings: object): Promise<void> {
  const params = { session_id: session.id };
  const body = { input: [{ type: 'text' as const, text: 'x' }], ...settings };
  const { turn_id } = await client.call(endpoints.sendTurn, { params, body });
  await session.watch.end(turn_id);
}

/** Ends a server, so that the next turn resumes. */
async function dies(server: RawCodex | undefined): Promise<void> {
  server?.exit(0);
  await until('it is gone', () => server?.gone === true);
}

const readOnly = { type: 'readOnly', networkAccess: false };

test('The settings of a turn apply to that turn only, even if another process runs the next turn.', async () => {
  const { open, agents, client } = on({});
  const session = await open();
  const settings = { permission_mode: 'full_access', model: 'other', thinking_effort: 'high' };
  await runWith(client, session, settings);
  await dies(agents[0]);
  await runWith(client, session, {});
  const turnStarts = agents.flatMap((server) => server.requests('turn/start'));
  expect(turnStarts).toMatchObject([
    {
      model: 'other',
      effort: 'high',
      approvalPolicy: 'never',
      sandboxPolicy: { type: 'dangerFullAccess' },
      approvalsReviewer: 'user',
    },
    {
      model: 'usual',
      effort: 'low',
      approvalPolicy: 'on-request',
      sandboxPolicy: readOnly,
      approvalsReviewer: 'user',
    },
  ]);
});

test('The settings of the session apply to turns without settings.', async () => {
  const { open, agents, client } = on({});
  const settings = { permission_mode: 'read_only', model: 'mine', thinking_effort: 'high' };
  const session = await open(settings);
  await runWith(client, session, {});
  await runWith(client, session, { permission_mode: 'default' });
  expect(agents[0]?.requests('thread/start')).toMatchObject([{ model: 'mine' }]);
  expect(agents[0]?.requests('turn/start')).toMatchObject([
    { model: 'mine', effort: 'high', sandboxPolicy: readOnly },
    { model: 'mine', effort: 'high', approvalPolicy: 'on-request', sandboxPolicy: readOnly },
  ]);
});

test('A permission profile of the codex configuration is restored by its name.', async () => {
  const own = { model: 'usual', approvalPolicy: 'on-request', sandbox: readOnly };
  const thread = { id: 'with-profile', status: { type: 'idle' } };
  const profile = { ...own, activePermissionProfile: { id: ':mine' }, thread };
  const { open, agents, client } = on({ requests: { 'thread/start': () => profile } });
  const session = await open();
  await runWith(client, session, { permission_mode: 'workspace_write' });
  await runWith(client, session, { permission_mode: 'require_approval' });
  await runWith(client, session, {});
  const turnStarts = agents[0]?.requests('turn/start') ?? [];
  expect(turnStarts[0]).toMatchObject({ sandboxPolicy: { type: 'workspaceWrite' } });
  expect(turnStarts[1]).toMatchObject({ approvalPolicy: 'untrusted', permissions: ':mine' });
  expect(turnStarts[2]).toMatchObject({ approvalPolicy: 'on-request', permissions: ':mine' });
  expect(turnStarts.map((one) => 'sandboxPolicy' in one)).toEqual([true, false, false]);
});

test('An unknown permission_mode is refused at once with the list of modes.', async () => {
  const { open, agents } = on({});
  const message = expect.stringContaining('untrusted, on-request, never') as string;
  const refused = { code: 'invalid', message };
  await expect(open({ permission_mode: 'yolo' })).rejects.toMatchObject(refused);
  const turn = (await open()).run('x', { permission_mode: 'yolo' });
  await expect(turn).rejects.toMatchObject(refused);
  expect(agents).toEqual([]);
});

test('An unknown thinking_effort fails the first turn, and is refused once the efforts are known.', async () => {
  const { open, agents } = await testRawCodex({});
  const enormous = { thinking_effort: 'enormous' };
  const message = expect.stringContaining('low, high') as string;
  const { error } = await (await open(enormous)).run('x');
  expect(error).toMatchObject({ code: 'invalid_thinking_effort', message });
  expect(agents[0]?.requests('turn/start')).toEqual([]);
  await expect(open({ ...enormous, model: 'usual' })).rejects.toMatchObject({
    code: 'invalid',
    message,
  });
});

test('A mode that codex itself refuses fails the turn as an invalid mode.', async () => {
  const { open } = await testRawCodex({
    requests: {
      'turn/start'({ approvalPolicy }, { turns }) {
        if (approvalPolicy === 'never')
          throw new Refusal('unknown variant `never`, expected one of `untrusted`');
        return { turn: { id: `t${turns.length}` } };
      },
    },
  });
  const session = await open({ permission_mode: 'never' });
  expect((await session.run('x')).error?.code).toBe('invalid_permission_mode');
  expect((await session.run('y', { permission_mode: 'default' })).text).toBe('y');
});

test('A thread is named at its start, and resumed in its directory without its turns.', async () => {
  const { firstTurn, agents, cwd } = on({});
  const { session } = await firstTurn('x', { title: 'Plovers' });
  const { provider_session_ref: threadId } = await session.record();
  expect(agents[0]?.requests('thread/name/set')).toEqual([{ threadId, name: 'Plovers' }]);
  await dies(agents[0]);
  await session.run('y');
  expect(agents[1]?.requests('thread/resume')).toEqual([
    {
      threadId,
      excludeTurns: true,
      cwd,
      model: 'usual',
      approvalsReviewer: 'user',
      config: expect.any(Object) as object,
    },
  ]);
});

/** Each new server has no threads of the previous one. */
const forgetful: CodexBehavior = { begins: ({ memory }) => memory.clear() };

test('A session that is missing in codex fails with its turn and the error of codex.', async () => {
  const { firstTurn, agents } = on(forgetful);
  const { session } = await firstTurn('first');
  await dies(agents[0]);
  const { error } = await session.run('second');
  expect(error?.code).toBe('resume_failed');
  expect(error?.message).toContain('no rollout found');
  expect(await session.record()).toMatchObject({ status: 'failed' });
});

test('A session without an answer so far is opened anew.', async () => {
  const { firstTurn, agents } = on({ ...forgetful, turns: { go: (turn) => turn.complete() } });
  const { session } = await firstTurn('go');
  const { provider_session_ref: before } = await session.record();
  await dies(agents[0]);
  expect((await session.run('second')).text).toBe('second');
  expect((await session.record()).provider_session_ref).not.toBe(before);
});

test('A resumed thread ends its unfinished turn before the next turn starts.', async () => {
  const { firstTurn, agents } = on({
    requests: {
      'thread/resume': ({ threadId }) => ({
        model: 'usual',
        thread: { id: threadId, status: { type: 'active' } },
      }),
      'turn/interrupt'({ threadId }, server) {
        const turn = { id: 'nobody’s', status: 'interrupted' };
        server.note('turn/completed', { threadId, turn });
      },
    },
  });
  const { session } = await firstTurn('x');
  await dies(agents[0]);
  expect((await session.run('y')).text).toBe('y');
  const methods = agents[1]?.received.map(({ method }) => method);
  expect(methods?.indexOf('turn/interrupt')).toBeLessThan(methods?.indexOf('turn/start') ?? 0);
});

test('Recovery asks one app-server about all sessions and starts no other.', async () => {
  const harness = await testRawCodex({});
  const [kept, lost, listed] = [await harness.open(), await harness.open(), await harness.open()];
  for (const session of [kept, lost, listed]) await session.run('x');
  const refs = [];
  for (const session of [kept, lost, listed])
    refs.push((await session.record()).provider_session_ref);
  const [first] = harness.agents;
  first?.memory.delete(String(refs[1]));
  await harness.restart();
  const { sessions_failed } = await harness.recovered();
  expect(sessions_failed).toMatchObject([{ session_id: lost.id, code: 'resume_failed' }]);
  expect(harness.agents).toHaveLength(2);
  expect(harness.agents[1]?.requests('thread/read').map(({ threadId }) => threadId)).toEqual(
    expect.arrayContaining(refs),
  );
});

test('A thread whose file is missing is lost, although codex still lists it.', async () => {
  const files = new Map<string, string>();
  const threadOf = (id: string) => ({ id, path: files.get(id) });
  const behavior: CodexBehavior = {
    requests: {
      'thread/list': () => ({ data: [...files.keys()].map(threadOf), nextCursor: null }),
      'thread/read'({ threadId, includeTurns }) {
        const id = String(threadId);
        if (includeTurns && !existsSync(files.get(id) ?? ''))
          throw new Refusal('invalid paginated history lineage: missing source rollout');
        return { thread: threadOf(id) };
      },
    },
  };
  const harness = await testRawCodex(behavior);
  const [kept, lost] = [await harness.open(), await harness.open()];
  for (const session of [kept, lost]) {
    await session.run('x');
    const id = (await session.record()).provider_session_ref ?? '';
    files.set(id, join(harness.cwd, id));
  }
  writeFileSync([...files.values()][0] ?? '', '');
  await harness.restart();
  const { sessions_failed } = await harness.recovered();
  expect(sessions_failed).toMatchObject([{ session_id: lost.id, code: 'resume_failed' }]);
});

test.for<[string, CodexBehavior, RegExp]>([
  [
    'is too old for the app-server',
    {
      begins(server) {
        server.stderr("error: unrecognized subcommand 'app-server'\n");
        server.exit(2);
      },
      requests: { initialize: never },
    },
    /the agent exited with code 2: error: unrecognized subcommand.*\): check that ".*" prints 0\.150\.0 or newer/,
  ],
  [
    'refuses to be initialized',
    {
      requests: {
        initialize() {
          throw new Refusal('not today');
        },
      },
    },
    /did not start \(not today\)/,
  ],
  [
    'opens a thread without its id',
    { requests: { 'thread/start': () => ({}) } },
    /returned no id for its new thread/,
  ],
])(
  'A codex that %s fails the turn with the remedy, and the next turn starts codex again.',
  async ([, behavior, words]) => {
    const { firstTurn, diagnostics, agents } = on(behavior);
    const { session, turn } = await firstTurn('x');
    expect(turn.error?.code).toBe('provider_unavailable');
    expect(turn.error?.message).toMatch(words);
    expect((await diagnostics()).last_error).toMatch(words);
    expect(await session.record()).toMatchObject({ status: 'ready' });
    await session.run('again');
    expect(agents.length).toBeGreaterThan(0);
  },
);

test('A session is refused if codex is not installed or is disabled.', async () => {
  for (const [codex, words] of [
    [{ command: 'no-such-codex' }, /"no-such-codex" not found on PATH.*providers.codex.command/],
    [{ enabled: false }, /disabled: set providers.codex.enabled/],
  ] as const) {
    const { open, client } = await testRawCodex({}, { codex });
    await expect(open()).rejects.toMatchObject(anError('provider_unavailable', words));
    const status = await client.call(endpoints.getCodexAuthStatus, {});
    expect(status).toMatchObject({ authenticated: false, mode: 'not_configured' });
  }
});

test('A turn that is interrupted while codex starts leaves no process.', async () => {
  const { open, client, agents, noAgents } = on({ requests: { 'thread/start': never } });
  const session = await open();
  const turnId = await session.send('x');
  await until('it starts', () => agents[0]?.requests('thread/start').length === 1);
  const params = { session_id: session.id, turn_id: turnId };
  await client.call(endpoints.interruptTurn, { params, body: {} });
  expect((await session.watch.end(turnId)).kind).toBe('turn.interrupted');
  await noAgents();
});

test('The list of models is requested from codex once.', async () => {
  const { client, agents } = await testRawCodex({});
  const params = { provider: 'codex' as const };
  for (let times = 0; times < 2; times++)
    expect(await client.call(endpoints.listModels, { params })).toEqual([
      { id: 'usual', display_name: 'Usual', reasoning_levels: ['low', 'high'] },
    ]);
  expect(agents.flatMap((server) => server.requests('model/list'))).toHaveLength(1);
});
