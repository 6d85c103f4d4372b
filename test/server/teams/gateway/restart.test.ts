import { expect, it } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { testServer } from '../../../support/server.ts';
import { testDirectory } from '../../../support/temp.ts';
import { until } from '../../../support/providers/calls.ts';

it('An invocation that a restart interrupted reports so when it is repeated, and does not run twice.', async () => {
  const own = testDirectory('gateway');
  const first = await testServer({ directory: own });
  const session = await first.client.call(endpoints.createSession, {
    body: { provider: 'acp', cwd: own },
  });
  const query = { session_id: session.id };
  const body = {
    tool_name: 'cadre_process_run',
    caller_agent_id: session.id,
    invocation_id: 'the one',
    args: { command: 'sleep 60', wait_ms: 50_000 },
  };
  const answer = first.client.call(endpoints.invokeTool, { body }).catch(() => 'cut off');
  await until('it runs', async () => {
    const [process] = await first.client.call(endpoints.listProcesses, { query });
    return process?.status === 'running';
  });
  await first.end('SIGKILL');
  expect(await answer).toBe('cut off');

  const second = await testServer({ directory: own });
  const again = await second.client.call(endpoints.invokeTool, { body });
  expect(again).toMatchObject({ ok: false, error: { code: 'internal' } });
  expect(await second.client.call(endpoints.listProcesses, { query })).toHaveLength(1);
});
