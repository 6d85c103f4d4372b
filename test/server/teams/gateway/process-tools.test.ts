import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { anError } from '../../../support/an-error.ts';
import type { Process } from '../../../../src/api/processes.ts';
import type { Session } from '../../../../src/api/sessions.ts';
import {
  sharedStage,
  type Stage,
  testStage,
  afterCrash,
  testSession,
} from '../../../support/sessions/harness.ts';

type Result = { process: Process; processes: Process[]; stdout_tail: string; stderr_tail: string };
type Envelope = { ok: boolean; result: Result; error: { code: string; message: string } };

async function call(
  { post }: Pick<Stage, 'post'>,
  { id }: { id: string },
  tool: string,
  args: object = {},
): Promise<Envelope> {
  const body = { tool_name: `cadre_process_${tool}`, caller_agent_id: id, args };
  return (await post<Envelope>('/v1/mcp/invoke', body)).body;
}

/** A session in which nobody is asked for anything. */
const free = { permission_mode: null };

const given = sharedStage();

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
const calling = (stage: Stage, session: Session, args: object = running) =>
  stage.callTool<Result>(session, 'cadre_process_run', args);
const none = async (stage: Stage, session: Session) =>
  expect((await call(stage, session, 'status')).result.processes).toEqual([]);

it('A command with the token of the operator runs at once, whatever the mode.', async () => {
  const stage = await testStage();
  for (const permission_mode of [null, 'read_only', 'require_approval']) {
    const session = await stage.open({ permission_mode });
    expect((await call(stage, session, 'run', running)).ok).toBe(true);
  }
});

it('The approval of a command shows all of its parameters, and it runs once it is accepted.', async () => {
  const stage = await testStage();
  const session = await stage.open({
    permission_mode: null,
    cwd: stage.directory,
  });
  await stage.play(session);
  const command = 'echo ran\n# \u202etxt.exe';
  const asked = { ...running, command, cwd: 'logs/..', timeout_ms: 60_000 };
  const accepted = calling(stage, session, asked);
  const approval = await stage.asked(session.id);
  expect(approval).toMatchObject({ kind: 'command', title: 'echo ran # txt.exe' });
  expect(approval.request).toEqual({
    tool: 'cadre_process_run',
    command,
    cwd: stage.directory,
    timeout_ms: 60_000,
  });
  expect(approval.details).toEqual([
    { type: 'command', command, cwd: stage.directory },
    { type: 'input', name: 'timeout_ms', value: 60_000 },
    { type: 'input', name: 'tool', value: 'cadre_process_run' },
  ]);
  expect(approval).toMatchObject({ scopes: ['once'], session_allows: null });
  await none(stage, session);
  await stage.decide(approval, 'accept');
  expect((await accepted).result.stdout_tail).toBe('ran\n');

  const declined = calling(stage, session);
  const second = await stage.asked(session.id, 2);
  await stage.decide(second, 'decline', { reason: 'not this one' });
  expect((await declined).error).toMatchObject(anError('unauthorized', 'not this one'));
});

it('A command does not run if its directory is replaced after the approval is requested.', async () => {
  const stage = await testStage();
  const session = await stage.open({
    permission_mode: null,
    cwd: stage.directory,
  });
  await stage.play(session);
  const [shown, other, link] = ['shown', 'other', 'link'].map((name) =>
    path.join(stage.directory, name),
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
    const answered = calling(stage, session, {
      command: 'pwd -P',
      wait_ms: 30_000,
      cwd: 'link',
    });
    const approval = await stage.asked(session.id, nth + 1);
    expect(approval.details[0]).toMatchObject({ cwd: shown });
    change();
    await stage.decide(approval, 'accept');
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
  const [stage, approval] = await afterCrash(async (stage) => {
    const session = await stage.open({ permission_mode: null });
    await stage.play(session);
    void calling(stage, session).catch(() => undefined);
    return stage.asked(session.id);
  });
  await stage.decide(approval, 'accept');
  await stage.provider.nextTurn();
  const session = await stage.session(approval.session_id);
  const longer = calling(stage, session, { ...running, timeout_ms: 0 });
  await stage.asked(session.id, 2);
  await none(stage, session);
  expect((await calling(stage, session)).result.stdout_tail).toBe('ran\n');
  void longer.catch(() => undefined);
});

it('A command is judged by the mode of the running turn.', async () => {
  const { stage, session: free } = await testSession(undefined, { permission_mode: 'read_only' });
  const input = [{ type: 'text', text: 'x' }];
  await stage.send(free, { input, permission_mode: 'full_access' });
  await stage.provider.nextTurn();
  expect((await calling(stage, free)).ok).toBe(true);
  const bound = await stage.open({ permission_mode: 'full_access' });
  await stage.send(bound, { input, permission_mode: 'read_only' });
  await stage.provider.nextTurn();
  const { error } = await calling(stage, bound);
  expect(error).toMatchObject(anError('unauthorized', 'another permission_mode'));
  await none(stage, bound);
});

it('A command without a turn for its approval is refused with the alternatives.', async () => {
  const stage = await testStage();
  for (const permission_mode of [null, 'default', 'require_approval']) {
    const session = await stage.open({ permission_mode });
    const { error } = await calling(stage, session);
    expect(error.code).toBe('unauthorized');
    for (const way of ['no running turn', 'full_access', '[gateway] free = ["cadre_process_run"]'])
      expect(error.message).toContain(way);
    await none(stage, session);
  }
});

it('A command of a freed tool runs at once, except in a read_only session.', async () => {
  const stage = await testStage({ config: { gateway: { free: ['cadre_process_run'] } } });
  expect((await calling(stage, await stage.open({ permission_mode: null }))).ok).toBe(true);
  const bound = await stage.open({ permission_mode: 'read_only' });
  expect((await calling(stage, bound)).error.code).toBe('unauthorized');
});

it('The approval of a command is cancelled when its turn is interrupted or its caller hangs up.', async () => {
  const { stage, session } = await testSession(undefined, { permission_mode: 'require_approval' });
  await stage.play(session);
  const caller = new AbortController();
  const left = fetch(`${stage.given.url}/v1/mcp/invoke`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${stage.tokenOf(session)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      tool_name: 'cadre_process_run',
      caller_agent_id: session.id,
      args: running,
    }),
    signal: caller.signal,
  });
  const first = await stage.asked(session.id);
  caller.abort();
  await expect(left).rejects.toThrow(/abort/);
  await stage.until(
    ({ kind, payload }) =>
      kind === 'approval.resolved' &&
      (payload as { approval: { id: string } }).approval.id === first.id,
  );
  const interrupted = calling(stage, session);
  await stage.asked(session.id, 2);
  const { active_turn_id } = await stage.session(session.id);
  await stage.interrupt(session.id, active_turn_id ?? '');
  expect((await interrupted).error.code).toBe('unauthorized');
  await none(stage, session);
});
