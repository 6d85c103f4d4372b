import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { until } from '../../support/providers/calls.ts';
import { callTool, withToolServer } from '../../support/mcp.ts';
import {
  type RawSession,
  type RawAgentHarness,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';

interface ServerConfig {
  name: string;
  command: string;
  args: string[];
  env: { name: string; value: string }[];
}

/** Opens a session and returns the MCP server that its agent received. */
async function given({
  agents,
  open,
}: RawAgentHarness): Promise<{ server: ServerConfig; session: RawSession }> {
  const session = await open();
  await session.run('hello');
  const params = agents.at(-1)?.last('session/new')?.params;
  const [server] = (params?.mcpServers ?? []) as ServerConfig[];
  if (!server) throw new Error('the agent was given no server');
  return { server, session };
}

function startOf({ command, args, env }: ServerConfig) {
  return {
    command,
    args,
    env: Object.fromEntries(env.map(({ name, value }) => [name, value])),
  };
}

function tokenOf({ env }: ServerConfig): string {
  return env.find(({ name }) => name === 'CADRE_GATEWAY_TOKEN')?.value ?? '';
}

it('The MCP server lists the tools of the gateway and calls them as its session.', async () => {
  const harness = await testRawAgent({}, { gateway: { free: ['cadre_process_run'] } });
  const { server, session } = await given(harness);
  expect(server.name).toBe('cadre');
  await withToolServer(startOf(server), async (client) => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('cadre_process_run');
    const { result } = await callTool(client, 'cadre_process_run', {
      command: 'echo hi',
      wait_ms: 30_000,
    });
    expect(result.process.session_id).toBe(session.id);
    expect(result.stdout_tail).toBe('hi\n');
    expect((await callTool(client, 'cadre_process_run', {})).error.code).toBe('bad_request');
    await expect(client.callTool({ name: 'nonsense' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('unknown tool "nonsense"'),
    });
  });
});

it('An agent that resumes a session receives the MCP server too.', async () => {
  const harness = await testRawAgent({});
  const { session } = await given(harness);
  await harness.restart();
  const body = { input: [{ type: 'text' as const, text: 'again' }] };
  const params = { session_id: session.id };
  await harness.client.call(endpoints.sendTurn, { params, body });
  // The agent of the recovery may start before or after this one.
  const resumed = () =>
    harness.agents.map((agent) => agent.last('session/resume')).find((asked) => asked);
  await until('the session was resumed', () => resumed() !== undefined);
  expect(resumed()?.params?.mcpServers).toHaveLength(1);
});

it('The arguments of the MCP server contain no secret.', async () => {
  const harness = await testRawAgent({});
  const { server } = await given(harness);
  expect(server.args.join(' ')).not.toContain(tokenOf(server));
});

it('A tool call fails as unavailable if the server address is missing or does not respond.', async () => {
  const { file: command, args } = selfCommand();
  const sidecar = { command, args: [...args, 'mcp', 'serve'] };
  const nowhere = {
    CADRE_GATEWAY_URL: 'http://127.0.0.1:9',
    CADRE_GATEWAY_TOKEN: 'x',
    CADRE_SESSION_ID: `sess_${'0'.repeat(32)}`,
  };
  for (const env of [{}, nowhere]) {
    await withToolServer({ ...sidecar, env }, async (client) => {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain('cadre_process_run');
      const { error } = await callTool(client, 'cadre_process_status');
      expect(error.code).toBe('backend_unavailable');
    });
  }
});

it('The MCP server exits with the reason if a line of its client is too long.', async () => {
  const { file, args } = selfCommand();
  const sidecar = spawn(file, [...args, 'mcp', 'serve'], { stdio: 'pipe' });
  sidecar.stdin.on('error', () => undefined).write('x'.repeat(10 * 1024 * 1024 + 1));
  const [stderr, [code]] = await Promise.all([text(sidecar.stderr), once(sidecar, 'exit')]);
  expect(stderr).toBe('cadre: the MCP client sent a line of more than 10485760 bytes\n');
  expect(code).toBe(2);
});

it('A tool call that finds no server is repeated for as long as another server may take over the session.', async () => {
  const called: string[] = [];
  const listen = async (port: number, answers: boolean) => {
    const server = http.createServer((request, response) => {
      void text(request).then((body) => {
        called.push((JSON.parse(body) as { invocation_id: string }).invocation_id);
        if (!answers) return response.destroy();
        return response
          .setHeader('content-type', 'application/json')
          .setHeader('x-epoch', 'epoch_1')
          .setHeader('x-request-id', 'req_1')
          .end(JSON.stringify({ ok: true, result: { from: 'the second server' } }));
      });
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  // It dies during the call.
  const first = await listen(0, false);
  const { port } = first.address() as AddressInfo;
  const { file: command, args } = selfCommand();
  const env = {
    CADRE_GATEWAY_URL: `http://127.0.0.1:${port}`,
    CADRE_GATEWAY_TOKEN: 'x',
    CADRE_SESSION_ID: `sess_${'0'.repeat(32)}`,
    CADRE_REATTACH_MS: '60000',
  };
  await withToolServer({ command, args: [...args, 'mcp', 'serve'], env }, async (client) => {
    const answer = callTool(client, 'cadre_process_status');
    await until('the first server was called', () => called.length > 0);
    first.close();
    first.closeAllConnections();
    await once(first, 'close');
    const second = await listen(port, true);
    expect((await answer).result).toEqual({ from: 'the second server' });
    second.close();
    second.closeAllConnections();
  });
  expect(new Set(called).size).toBe(1);
});

const ask = (harness: RawAgentHarness, token: string, path: string, body?: object) =>
  fetch(`${harness.given.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
const status = (caller: string) => ({
  tool_name: 'cadre_process_status',
  caller_agent_id: caller,
});

it('A gateway token allows the tools of its session, and no other endpoint.', async () => {
  const harness = await testRawAgent({});
  const { server, session } = await given(harness);
  const token = tokenOf(server);
  expect((await ask(harness, token, '/v1/mcp/capabilities')).status).toBe(200);
  expect(
    await (await ask(harness, token, '/v1/mcp/invoke', status(session.id))).json(),
  ).toMatchObject({
    ok: true,
  });
  for (const path of ['/v1/sessions', '/v1/events', '/metrics', '/v1/tokens', '/v1/nothing'])
    expect([path, (await ask(harness, token, path)).status]).toEqual([path, 403]);
  const { status: code } = await ask(harness, token, `/v1/sessions/${session.id}/close`, {});
  expect(code).toBe(403);
});

it('A gateway token cannot call tools as another session, and a forged token is refused with 401.', async () => {
  const harness = await testRawAgent({});
  const [one, other] = [await given(harness), await given(harness)];
  const token = tokenOf(one.server);
  const foreign = await ask(harness, token, '/v1/mcp/invoke', status(other.session.id));
  expect(foreign.status).toBe(200);
  expect(await foreign.json()).toMatchObject({ ok: false, error: { code: 'unauthorized' } });
  const forged = [one.session.id, other.session.id].map((id) =>
    token.replace(/\.sess_\w+\./, `.${id}.`),
  );
  expect(forged[0]).toBe(token);
  for (const wrong of [forged[1] ?? '', `${token}x`, token.slice(0, -1), 'cadre_agent..'])
    expect((await ask(harness, wrong, '/v1/mcp/capabilities')).status).toBe(401);
});

it('A gateway token is refused with the reason while its session is closed.', async () => {
  const harness = await testRawAgent({});
  const { server, session } = await given(harness);
  const params = { session_id: session.id };
  await harness.client.call(endpoints.closeSession, { params, body: { reason: 'done' } });
  const closed = await ask(harness, tokenOf(server), '/v1/mcp/invoke', status(session.id));
  expect(closed.status).toBe(400);
  const listed = await ask(harness, tokenOf(server), '/v1/mcp/capabilities');
  expect([listed.status, await listed.json()]).toEqual([
    400,
    {
      error: `session ${session.id} cannot call tools, because the session is closed`,
      code: 'invalid',
    },
  ]);
});
