import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import type { Process } from '../../../../src/api/processes.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import {
  sharedHarness,
  type Harness,
  testHarness,
  afterCrash,
  testSession,
} from '../../../support/sessions/harness.ts';

type Result = { process: Process; processes: Process[]; stdout_tail: string; stderr_tail: string };
type Envelope = { ok: boolean; result: Result; error: { code: string; message: string } };

async function call(
  { post }: Pick<Harness, 'post'>,
  { id }: { id: string },
  tool: string,
  args: object = {},
): Promise<Envelope> {
  const body = { tool_name: `cadre_process_${tool}`, caller_agent_id: id, args };
  return (await post<Envelope>('/v1/mcp/invoke', body)).body;
}

/** A session in which nobody is asked for anything. */
const free = { permission_mode: null };

const given = sharedHarness();

it('A command of a tool runs in the directory of its session, as a process of that session.', async () => {
  const session = await given().open({ ...free, cwd: given().directory });
  const { result } = await call(given(), session, 'run', {
    command: 'pwd; echo $CADRE_SESSION_ID',
  });
  expect(result.process).toMatchObject({ session_id: session.id, cwd: given().directory });
  await given().until(
    ({ kind, process_id }) =>
      kind === 'process.completed' && process_id === result.process.process_id,
  );
  const { process_id } = result.process;
  const logs = await call(given(), session, 'logs', { process_id, stream: 'stdout' });
  expect(logs.result).toMatchObject({
    stdout: { content: `${given().directory}\n${session.id}\n` },
    stderr: null,
  });
});

it('A token with the scope tools needs an approval like the agent: only an admin is the operator.', async () => {
  const { post, given: runtime } = given();
  const session = await given().open(free);
  const { body } = await post<{ secret: string }>('/v1/tokens', { name: 'mcp', scope: 'tools' });
  const response = await fetch(new URL('/v1/mcp/invoke', runtime.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${body.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      tool_name: 'cadre_process_run',
      caller_agent_id: session.id,
      args: { command: 'true' },
    }),
  });
  expect(await response.json()).toMatchObject({ ok: false, error: { code: 'unauthorized' } });
});

it('A tool waits for a short command, and returns its output.', async () => {
  const session = await given().open(free);
  const command = 'echo out; echo err >&2; exit 3';
  const { result } = await call(given(), session, 'run', { command, wait_ms: 30_000 });
  expect(result).toMatchObject({
    process: { status: 'failed', exit_code: 3 },
    stdout_tail: 'out\n',
    stderr_tail: 'err\n',
  });
});

it('A tool sees only the processes of its own session.', async () => {
  const [one, other] = [await given().open(free), await given().open(free)];
  const { result } = await call(given(), one, 'run', { command: 'sleep 60' });
  const { process_id } = result.process;
  expect((await call(given(), one, 'status')).result.processes).toHaveLength(1);
  expect((await call(given(), other, 'status')).result.processes).toEqual([]);
  for (const tool of ['status', 'logs', 'kill'])
    for (const id of [process_id, ''])
      expect((await call(given(), other, tool, { process_id: id })).error.code).toBe('not_found');
  // A process has some time to end by itself.
  given().clock.runFree();
  const killed = await call(given(), one, 'kill', { process_id, reason: 'enough' });
  expect(killed.result.process.process_id).toBe(process_id);
  await given().until(({ kind, process_id: id }) => kind === 'process.killed' && id === process_id);
  const { result: after } = await call(given(), one, 'status', { process_id });
  expect(after.process).toMatchObject({ status: 'killed', kill_reason: 'enough' });
});

const running = { command: 'echo ran', wait_ms: 30_000 };
const calling = (harness: Harness, session: Session, args: object = running) =>
  harness.callTool<Result>(session, 'cadre_process_run', args);
const none = async (harness: Harness, session: Session) =>
  expect((await call(harness, session, 'status')).result.processes).toEqual([]);

it('A command with the token of the operator runs at once, whatever the mode.', async () => {
  const harness = await testHarness();
  for (const permission_mode of [null, 'read_only', 'require_approval']) {
    const session = await harness.open({ permission_mode });
    expect((await call(harness, session, 'run', running)).ok).toBe(true);
  }
});

it('The approval of a command shows all of its parameters, and it runs once it is accepted.', async () => {
  const harness = await testHarness();
  const session = await harness.open({
    permission_mode: null,
    cwd: harness.directory,
  });
  await harness.startTurn(session);
  const command = 'echo ran\n# \u202etxt.exe';
  const asked = { ...running, command, cwd: 'logs/..', timeout_ms: 60_000 };
  const accepted = calling(harness, session, asked);
  const approval = await harness.asked(session.id);
  expect(approval).toMatchObject({ kind: 'command', title: 'echo ran # txt.exe' });
  expect(approval.request).toEqual({
    tool: 'cadre_process_run',
    command,
    cwd: harness.directory,
    timeout_ms: 60_000,
  });
  expect(approval.details).toEqual([
    { type: 'command', command, cwd: harness.directory },
    { type: 'input', name: 'timeout_ms', value: 60_000 },
    { type: 'input', name: 'tool', value: 'cadre_process_run' },
  ]);
  expect(approval).toMatchObject({ scopes: ['once'], session_allows: null });
  await none(harness, session);
  await harness.decide(approval, 'accept');
  expect((await accepted).result.stdout_tail).toBe('ran\n');

  const declined = calling(harness, session);
  const second = await harness.asked(session.id, 2);
  await harness.decide(second, 'decline', { reason: 'not this one' });
  expect((await declined).error).toMatchObject(anError('unauthorized', 'not this one'));
});

it('A command does not run if its directory is replaced after the approval is requested.', async () => {
  const harness = await testHarness();
  const session = await harness.open({
    permission_mode: null,
    cwd: harness.directory,
  });
  await harness.startTurn(session);
  const [shown, other, link] = ['shown', 'other', 'link'].map((name) =>
    path.join(harness.directory, name),
  ) as [string, string, string];
  const changes = [
    () => {
      fs.rmSync(link);
      fs.symlinkSync(other, link);
    },
    () => fs.rmdirSync(shown),
    () => {
      fs.renameSync(shown, `${shown} away`);
      fs.symlinkSync(other, shown);
    },
    () => {
      fs.renameSync(shown, `${shown} away`);
      fs.mkdirSync(shown);
    },
  ];
  for (const [nth, change] of changes.entries()) {
    for (const one of [shown, link, `${shown} away`])
      fs.rmSync(one, { recursive: true, force: true });
    fs.mkdirSync(shown);
    fs.mkdirSync(other, { recursive: true });
    fs.symlinkSync(shown, link);
    const answered = calling(harness, session, {
      command: 'pwd -P',
      wait_ms: 30_000,
      cwd: 'link',
    });
    const approval = await harness.asked(session.id, nth + 1);
    expect(approval.details[0]).toMatchObject({ cwd: shown });
    change();
    await harness.decide(approval, 'accept');
    const { ok, result, error } = await answered;
    // The link may lead elsewhere by now: the command runs in what was shown.
    if (nth === 0) expect(result.stdout_tail).toBe(`${shown}\n`);
    else
      expect([nth, ok, error.message]).toEqual([
        nth,
        false,
        expect.stringContaining('was replaced'),
      ]);
  }
});

it('An approved command may run after a restart with exactly the same arguments.', async () => {
  const [harness, approval] = await afterCrash(async (harness) => {
    const session = await harness.open({ permission_mode: null });
    await harness.startTurn(session);
    void calling(harness, session).catch(() => undefined);
    return harness.asked(session.id);
  });
  await harness.decide(approval, 'accept');
  await harness.provider.nextTurn();
  const session = await harness.session(approval.session_id);
  const longer = calling(harness, session, { ...running, timeout_ms: 0 });
  await harness.asked(session.id, 2);
  await none(harness, session);
  expect((await calling(harness, session)).result.stdout_tail).toBe('ran\n');
  void longer.catch(() => undefined);
});

it('A command is judged by the mode of the running turn.', async () => {
  const { harness, session: free } = await testSession(undefined, { permission_mode: 'read_only' });
  const input = [{ type: 'text', text: 'x' }];
  await harness.send(free, { input, permission_mode: 'full_access' });
  await harness.provider.nextTurn();
  expect((await calling(harness, free)).ok).toBe(true);
  const bound = await harness.open({ permission_mode: 'full_access' });
  await harness.send(bound, { input, permission_mode: 'read_only' });
  await harness.provider.nextTurn();
  const { error } = await calling(harness, bound);
  expect(error).toMatchObject(anError('unauthorized', 'another permission_mode'));
  await none(harness, bound);
});

it('A command without a turn for its approval is refused with the alternatives.', async () => {
  const harness = await testHarness();
  for (const permission_mode of [null, 'default', 'require_approval']) {
    const session = await harness.open({ permission_mode });
    const { error } = await calling(harness, session);
    expect(error.code).toBe('unauthorized');
    for (const way of ['no running turn', 'full_access', '[gateway] free = ["cadre_process_run"]'])
      expect(error.message).toContain(way);
    await none(harness, session);
  }
});

it('A command of a freed tool runs at once, except in a read_only session.', async () => {
  const harness = await testHarness({ config: { gateway: { free: ['cadre_process_run'] } } });
  expect((await calling(harness, await harness.open({ permission_mode: null }))).ok).toBe(true);
  const bound = await harness.open({ permission_mode: 'read_only' });
  expect((await calling(harness, bound)).error.code).toBe('unauthorized');
});

it('The approval of a command is cancelled when its turn is interrupted or its caller hangs up.', async () => {
  const { harness, session } = await testSession(undefined, {
    permission_mode: 'require_approval',
  });
  await harness.startTurn(session);
  const caller = new AbortController();
  const left = fetch(`${harness.given.url}/v1/mcp/invoke`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${harness.tokenOf(session)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      tool_name: 'cadre_process_run',
      caller_agent_id: session.id,
      args: running,
    }),
    signal: caller.signal,
  });
  const first = await harness.asked(session.id);
  caller.abort();
  await expect(left).rejects.toThrow(/abort/);
  await harness.until(
    ({ kind, payload }) =>
      kind === 'approval.resolved' &&
      (payload as { approval: { id: string } }).approval.id === first.id,
  );
  const interrupted = calling(harness, session);
  await harness.asked(session.id, 2);
  const { active_turn_id } = await harness.session(session.id);
  await harness.interrupt(session.id, active_turn_id ?? '');
  expect((await interrupted).error.code).toBe('unauthorized');
  await none(harness, session);
});
