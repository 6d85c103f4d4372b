import { beforeAll, expect, it } from 'vitest';
import { anError, expectError } from '../../../support/an-error.ts';
import type { Process } from '../../../../src/api/processes.ts';
import { endpoints } from '../../../../src/api/index.ts';
import type { CreatedToken } from '../../../../src/api/tokens.ts';
import { HttpClient } from '../../../../src/client/client.ts';
import { sharedHarness } from '../../../support/sessions/harness.ts';

interface Envelope {
  ok: boolean;
  result: { process: Process; processes: Process[]; stdout_tail: string };
  error: { code: string; message: string };
}

const given = sharedHarness();
// To end a process takes time.
beforeAll(() => given().clock.runFree());
const make = (permission_mode: CreatedToken['permission_mode'] = 'full_access') =>
  given().given.client.call(endpoints.createToken, {
    body: { name: 'a caller', scope: 'tools', permission_mode },
  });
/** Calls with a token, as itself unless another id is given. */
async function call({ secret, id }: CreatedToken, tool: string, args: object = {}, as = id) {
  const client = new HttpClient({ url: given().given.url, token: secret });
  try {
    const body = { tool_name: `cadre_process_${tool}`, caller_agent_id: as, args: { ...args } };
    return (await client.call(endpoints.invokeTool, { body })) as unknown as Envelope;
  } finally {
    client.close();
  }
}
const cwd = () => given().directory;

it('An external caller runs, sees and ends its own processes, and nobody else sees them.', async () => {
  const [one, other] = [await make(), await make()];
  const ran = await call(one, 'run', { command: 'pwd; cat', cwd: cwd(), wait_ms: 30_000 });
  expect(ran.result).toMatchObject({ stdout_tail: `${cwd()}\n` });
  const { process } = ran.result;
  expect(process).toMatchObject({ session_id: null, caller_id: one.id });
  const { process_id } = process;
  expect((await call(one, 'status')).result.processes).toMatchObject([{ process_id }]);
  expect((await call(one, 'status', { process_id })).ok).toBe(true);
  expect((await call(one, 'logs', { process_id })).ok).toBe(true);
  expect((await call(one, 'kill', { process_id })).ok).toBe(true);
  expect((await call(other, 'status')).result.processes).toEqual([]);
  for (const tool of ['status', 'logs', 'kill'])
    expect((await call(other, tool, { process_id })).error.code).toBe('not_found');
  const session = await given().open({ permission_mode: null });
  const seen = await call(other, 'status', {}, session.id);
  expect(seen.result.processes).toEqual([]);
});

it('An external caller names the directory of its command, and gets no notice.', async () => {
  const token = await make();
  for (const [args, says] of [
    [{ command: 'true' }, /args\.cwd.*absolute/],
    [{ command: 'true', cwd: 'here' }, /args\.cwd.*absolute/],
    [{ command: 'true', cwd: cwd(), on_exit: 'notify' }, /args\.on_exit/],
  ] as const) {
    const { error } = await call(token, 'run', args);
    expect(error.code).toBe('bad_request');
    expect(error.message).toMatch(says);
  }
});

it.each([null, 'default', 'read_only'] as const)(
  'An external caller with the mode %s may not run a command, because nobody can approve it.',
  async (mode) => {
    const token = await make(mode);
    const { error } = await call(token, 'run', { command: 'true', cwd: cwd() });
    expect(error.code).toBe('unauthorized');
    expect(error.message).toContain('full_access');
    expect((await call(token, 'status')).ok).toBe(true);
  },
);

it('The processes of an external caller end with its token, and no others.', async () => {
  const [one, other] = [await make(), await make()];
  const run = async (token: CreatedToken) =>
    (await call(token, 'run', { command: 'tail -f /dev/null', cwd: cwd() })).result.process
      .process_id;
  const [mine, theirs] = [await run(one), await run(other)];
  const { client } = given().given;
  await client.call(endpoints.deleteToken, { params: { token_id: one.id } });
  const wait = { params: { process_id: mine }, query: { timeout_ms: 30_000 } };
  const { process } = await client.call(endpoints.waitForProcess, wait);
  expect(process).toMatchObject({ status: 'killed', kill_reason: 'token_revoked' });
  expect((await call(other, 'status', { process_id: theirs })).result).toMatchObject({
    process: { status: 'running' },
  });
  await call(other, 'kill', { process_id: theirs });
});

it('An external caller calls as itself, or as a session with the mode of that session.', async () => {
  const [one, other] = [await make(), await make()];
  await expectError(call(one, 'status', {}, other.id), 'not_found');
  const { id } = await given().open({ permission_mode: 'read_only' });
  const { error } = await call(one, 'run', { command: 'true' }, id);
  expect(error.message).toContain('read_only');
});

it('An external caller keeps the mode of its token if its session may do more.', async () => {
  const { id } = await given().open({ permission_mode: 'full_access', cwd: cwd() });
  for (const mode of ['read_only', 'default'] as const) {
    const { error } = await call(await make(mode), 'run', { command: 'true' }, id);
    expect(error).toMatchObject(anError('unauthorized', mode));
  }
  const { ok } = await call(await make(), 'run', { command: 'true', wait_ms: 30_000 }, id);
  expect(ok).toBe(true);
});

it('Only a token with the scope tools may have a mode.', async () => {
  const body = { name: 'x', scope: 'read' as const, permission_mode: 'default' as const };
  await expectError(given().given.client.call(endpoints.createToken, { body }), 'invalid');
});
