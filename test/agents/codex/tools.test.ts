import { expect, test } from 'vitest';
import { callTool, withToolServer } from '../../support/mcp.ts';
import { testRawCodex } from '../../support/providers/raw-codex.ts';

interface Server {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** Returns the configuration of the cadre tools in the parameters of a thread. */
function toolsIn(params: Record<string, unknown> | undefined): Server & Record<string, unknown> {
  const { config } = params as {
    config: { mcp_servers: { cadre: Server & Record<string, unknown> } };
  };
  return config.mcp_servers.cadre;
}

test('Each thread receives the tools of its own session, which need no permission of codex.', async () => {
  const { open, agents } = await testRawCodex({}, { gateway: { free: ['cadre_process_run'] } });
  const sessions = [await open(), await open()];
  for (const session of sessions) await session.run('x');
  const given = agents[0]?.requests('thread/start').map(toolsIn) ?? [];
  expect(given).toHaveLength(2);
  for (const [i, server] of given.entries()) {
    expect(server.default_tools_approval_mode).toBe('approve');
    expect(server.args.join(' ')).not.toContain(server.env.CADRE_GATEWAY_TOKEN);
    await withToolServer(server, async (client) => {
      const args = { command: 'true', wait_ms: 30_000 };
      const { result } = await callTool(client, 'cadre_process_run', args);
      expect(result.process.session_id).toBe(sessions[i]?.id);
    });
  }
  expect(JSON.stringify(agents[0]?.env)).not.toContain(given[0]?.env.CADRE_GATEWAY_TOKEN);
});

test('A resumed thread receives its tools again, because codex does not keep them.', async () => {
  const { firstTurn, agents, noAgents } = await testRawCodex(
    {},
    { providers: { idle_timeout_ms: 1 } },
  );
  const { session } = await firstTurn('x');
  await noAgents();
  await session.run('y');
  const resumed = agents[1]?.requests('thread/resume').map(toolsIn);
  expect(resumed).toMatchObject([{ env: { CADRE_SESSION_ID: session.id } }]);
});

test('Servers whose names differ only in characters that codex refuses are all given to it.', async () => {
  const { open, agents } = await testRawCodex({});
  const names = ['my files', 'my.files', 'files'];
  const mcp_servers = names.map((name) => ({ type: 'stdio' as const, name, command: name }));
  await (await open({ mcp_servers })).run('x');
  const [started] = (agents[0]?.requests('thread/start') ?? []) as {
    config: { mcp_servers: Record<string, Server> };
  }[];
  const { cadre: _own, ...others } = started?.config.mcp_servers ?? {};
  expect(others).toMatchObject({
    my_files: { command: 'my files' },
    my_files_2: { command: 'my.files' },
    files: { command: 'files' },
  });
});
