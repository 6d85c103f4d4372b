import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { testCadre } from '../../support/cli/cadre.ts';

test('The commands list the tools and call one as a session, and a failed call ends with 1.', async () => {
  const { server, cadre } = await testCadre();
  expect((await cadre(['mcp', 'tools'])).stdout).toMatch(/^cadre_process_run\t/m);
  const { id } = await server.client.call(endpoints.createSession, {
    body: { provider: 'acp', cwd: server.directory },
  });
  const as = ['--as', id.slice(-8)];
  const run = ['mcp', 'call', 'cadre_process_run', ...as];
  const given = await cadre([...run, '--arg', 'command=echo "a=b"', '--arg', 'wait_ms=30000']);
  expect(given.code).toBe(0);
  expect(JSON.parse(given.stdout)).toMatchObject({
    ok: true,
    result: { stdout_tail: 'a=b\n' },
  });

  const whole = await cadre([...run, '--args', '{"command": "true"}']);
  expect(JSON.parse(whole.stdout)).toMatchObject({ ok: true });
  const failed = await cadre(['mcp', 'call', 'cadre_process_kill', ...as]);
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.stdout)).toMatchObject({
    ok: false,
    error: { code: 'bad_request' },
  });
});

test('A text argument is passed unchanged, whatever it looks like.', async () => {
  const { server, cadre } = await testCadre();
  const open = async () =>
    (
      await server.client.call(endpoints.createSession, {
        body: { provider: 'acp', cwd: server.directory },
      })
    ).id;
  const [lead, member] = [await open(), await open()];
  await server.client.call(endpoints.createTeam, {
    body: { name: 'two', lead_agent_id: lead, member_agent_ids: [member] },
  });
  for (const text of ['42', 'true', '{"a": 1}', '"quoted"']) {
    const to = ['--arg', `recipient_agent_id=${member}`, '--arg', `message=${text}`];
    const sent = await cadre(['mcp', 'call', 'cadre_team_message', '--as', lead, ...to]);
    expect(sent.json()).toMatchObject({ result: { message: { input: { text } } } });
  }
  const limit = ['--arg', 'message_limit=1'];
  const seen = await cadre(['mcp', 'call', 'cadre_team_status', '--as', lead, ...limit]);
  expect((seen.json() as { result: { messages: [] } }).result.messages).toHaveLength(1);
});

test('cadre mcp call reports invalid arguments.', async () => {
  const { server, cadre } = await testCadre();
  const { id } = await server.client.call(endpoints.createSession, {
    body: { provider: 'acp', cwd: server.directory },
  });
  const call = ['mcp', 'call', 'cadre_process_run', '--as', id];
  const list = await cadre([...call, '--args', '[1]']);
  expect([list.code, list.stderr]).toEqual([2, expect.stringContaining('JSON object')]);
  const word = await cadre([...call, '--arg', 'command']);
  expect([word.code, word.stderr]).toEqual([2, expect.stringContaining('name=value')]);
});
