import { expect, it } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { sharedHarness } from '../../../support/sessions/harness.ts';

type Envelope = {
  ok: boolean;
  result?: Record<string, unknown>;
  error?: { code: string; message: string } | string;
  code?: string;
};

const given = sharedHarness();
const status = 'cadre_process_status';
const invoke = (body: object) => given().post<Envelope>('/v1/mcp/invoke', body);

it('A call returns the envelope with the result of the tool.', async () => {
  const { id } = await given().open({ permission_mode: null });
  const { status: code, body } = await invoke({ tool_name: status, caller_agent_id: id });
  expect(code).toBe(200);
  expect(body).toEqual({ ok: true, result: { processes: [], left_out: null } });
});

it('A call may use either spelling of its fields, or both with equal values.', async () => {
  const { id } = await given().open({ permission_mode: null });
  const other = { toolName: status, callerAgentId: id, invocationId: 'one', args: null };
  expect((await invoke(other)).body.ok).toBe(true);
  expect((await invoke({ ...other, tool_name: status, invocation_id: 'one' })).body.ok).toBe(true);
});

it('A malformed call is refused before any tool runs: names that are missing, blank or differ, a foreign namespace.', async () => {
  const { id } = await given().open({ permission_mode: null });
  const good = { tool_name: status, caller_agent_id: id };
  for (const [wrong, said] of [
    [{ caller_agent_id: id }, 'tool_name'],
    [{ tool_name: status }, 'caller_agent_id'],
    [{ ...good, tool_name: ' ' }, 'blank'],
    [{ ...good, caller_agent_id: '' }, 'blank'],
    [{ ...good, invocation_id: '' }, 'blank'],
    [{ ...good, toolName: 'cadre_process_run' }, 'differ'],
    [{ ...good, callerAgentId: 'sess_other' }, 'differ'],
    [{ ...good, invocation_id: 'a', invocationId: 'b' }, 'differ'],
    [{ ...good, namespace: '' }, 'namespace'],
    [{ ...good, namespace: 'cadre' }, 'namespace'],
    [{ ...good, namespace: 'cadre_team' }, 'namespace'],
    [{ ...good, args: ['x'] }, 'args'],
    [{ ...good, caller: id }, 'caller'],
  ] as const) {
    const { status: code, body } = await invoke(wrong);
    expect([wrong, code, body.code]).toEqual([wrong, 400, 'invalid']);
    expect(body.error).toContain(said);
  }
  expect((await invoke({ ...good, namespace: 'cadre_process' })).body.ok).toBe(true);
});

it('A call by an unknown session is 404, and by a closed or failed one 400.', async () => {
  const nobody = `sess_${'0'.repeat(32)}`;
  const unknown = await invoke({ tool_name: status, caller_agent_id: nobody });
  expect([unknown.status, unknown.body.code]).toEqual([404, 'not_found']);
  const { id } = await given().open({ permission_mode: null });
  await given().close(id);
  const closed = await invoke({ tool_name: status, caller_agent_id: id });
  expect([closed.status, closed.body.code]).toEqual([400, 'invalid']);
  expect(closed.body.error).toContain('closed');
});

it('The envelope reports a call of an unknown tool, or one with wrong arguments.', async () => {
  const { id } = await given().open({ permission_mode: null });
  const refusal = async (tool_name: string, args: object) => {
    const { status: code, body } = await invoke({ tool_name, caller_agent_id: id, args });
    expect([code, body.ok]).toEqual([200, false]);
    return body.error as { code: string; message: string };
  };
  expect((await refusal('cadre_process_dance', {})).code).toBe('not_found');
  expect((await refusal('bash', {})).code).toBe('not_found');
  expect((await refusal('toString', {})).code).toBe('not_found');
  for (const [args, said] of [
    [{}, 'command'],
    [{ command: 'true', caller_agent_id: id }, 'caller_agent_id'],
    [{ command: 'true', session_id: id }, 'session_id'],
    [JSON.parse('{"command":"true","__proto__":{}}') as object, '__proto__'],
    [{ command: 7 }, 'command'],
    [{ command: 'true', wait_ms: 60_000 }, 'wait_ms'],
    [{ command: 'true', cwd: '/no/such/place' }, '/no/such/place'],
  ] as const) {
    const error = await refusal('cadre_process_run', args);
    expect([args, error.code]).toEqual([args, 'bad_request']);
    expect(error.message).toContain(said);
  }
});

it('A call has at most 64 KiB, and no Idempotency-Key.', async () => {
  const { id } = await given().open({ permission_mode: null });
  const good = { tool_name: status, caller_agent_id: id };
  const large = await invoke({ ...good, args: { process_id: 'x'.repeat(64 * 1024) } });
  expect(large.status).toBe(413);
  const path = '/v1/mcp/invoke';
  const keyed = await given().post(path, good, { 'idempotency-key': 'a' });
  expect([keyed.status, keyed.body.code]).toEqual([400, 'invalid']);
  expect(keyed.body.error).toContain('invocation_id');
});

it('A repeated call with the same invocation_id gets the same answer, and runs nothing.', async () => {
  const { id } = await given().open({ permission_mode: null });
  const call = {
    tool_name: 'cadre_process_run',
    caller_agent_id: id,
    invocation_id: 'once',
    args: { command: 'true' },
  };
  const answers = await Promise.all([invoke(call), invoke(call), invoke(call)]);
  answers.push(await invoke(call));
  for (const { body } of answers) expect(body).toEqual(answers[0]?.body);
  const query = { session_id: id };
  expect(await given().given.client.call(endpoints.listProcesses, { query })).toHaveLength(1);

  const changed = await invoke({ ...call, args: { command: 'false' } });
  expect(changed.body).toMatchObject({ ok: false, error: { code: 'conflict' } });
  const { id: another } = await given().open({ permission_mode: null });
  expect((await invoke({ ...call, caller_agent_id: another })).body.ok).toBe(true);
});

const configured = sharedHarness({
  config: {
    teams: {
      non_lead_can_add_members: true,
      model_presets: [{ name: 'deep', provider: 'claude', model: 'opus', thinking_effort: 'high' }],
    },
  },
});

it('The capabilities list each tool with its arguments, and the configuration of teams.', async () => {
  const { status, body } = await configured().get<Record<string, unknown>>('/v1/mcp/capabilities');
  expect(status).toBe(200);
  const tools = (name: string) => expect.objectContaining({ name }) as object;
  expect(body).toMatchObject({
    namespaces: [
      {
        name: 'cadre_process',
        tools: [
          {
            name: 'cadre_process_run',
            description: expect.any(String) as string,
            input_schema: {
              type: 'object',
              required: ['command'],
              additionalProperties: false,
            },
          },
          tools('cadre_process_status'),
          tools('cadre_process_logs'),
          tools('cadre_process_kill'),
        ],
      },
      {
        name: 'cadre_team',
        tools: [
          tools('cadre_team_status'),
          tools('cadre_team_message'),
          tools('cadre_team_manage'),
        ],
      },
    ],
    cadreTeamManagePermissions: {
      non_lead_can_add_members: true,
      non_lead_can_remove_members: false,
    },
    cadreTeamModelPresets: [
      { name: 'deep', provider: 'claude', model: 'opus', thinking_effort: 'high' },
    ],
  });
});
