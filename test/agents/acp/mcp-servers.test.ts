import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import {
  capabilities,
  initialized,
  type AcpBehavior,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';

const SECRET = 'SWORDFISH-IN-THE-ENVIRONMENT';

const mcp_servers = [
  {
    type: 'stdio' as const,
    name: 'files',
    command: '/bin/files',
    args: ['--all'],
    env: { KEY: SECRET },
  },
  {
    type: 'http' as const,
    name: 'far',
    url: 'http://127.0.0.1:9/mcp',
    headers: { Authorization: `Bearer ${SECRET}` },
  },
];

/** The same servers in the form of ACP. */
const asGiven = [
  { name: 'files', command: '/bin/files', args: ['--all'], env: [{ name: 'KEY', value: SECRET }] },
  {
    type: 'http',
    name: 'far',
    url: 'http://127.0.0.1:9/mcp',
    headers: [{ name: 'Authorization', value: `Bearer ${SECRET}` }],
  },
];

function takes(mcpCapabilities: object): AcpBehavior {
  const agentCapabilities = { ...capabilities, mcpCapabilities };
  return { methods: { initialize: () => initialized({ agentCapabilities }) } };
}

async function rowsIn(client: Client, name: string): Promise<number | undefined> {
  const { tables } = await client.call(endpoints.getStorageDiagnostics, {});
  return tables.find((one) => one.name === name)?.rows;
}

test('Every agent of a session receives its MCP servers and the cadre server, also after a restart.', async () => {
  const harness = await testRawAgent(takes({ http: true }));
  const { agents, firstTurn, restart } = harness;
  const { session } = await firstTurn('hello', { mcp_servers });
  const cadre = { name: 'cadre', env: expect.anything() as object };
  expect(agents[0]?.last('session/new')?.params?.mcpServers).toMatchObject([cadre, ...asGiven]);
  await restart();
  const params = { session_id: session.id };
  const body = { input: [{ type: 'text' as const, text: 'again' }] };
  await harness.client.call(endpoints.sendTurn, { params, body });
  // The agent of the recovery may start before or after the agent of the turn.
  const resumed = () => agents.flatMap((one) => one.last('session/resume') ?? []);
  const given = () => resumed().map(({ params }) => params?.mcpServers as object[]);
  await expectEventually(() => given().find(({ length }) => length > 0)).toMatchObject([
    cadre,
    ...asGiven,
  ]);
});

test('Secrets of MCP servers appear in no answer, event or log, and are deleted with the session.', async () => {
  const harness = await testRawAgent(takes({ http: true }));
  const { client, given, firstTurn } = harness;
  const { session } = await firstTurn('hello', { mcp_servers });
  const params = { session_id: session.id };
  const shown = [
    await client.call(endpoints.getSession, { params }),
    await client.call(endpoints.listSessions, { query: {} }),
    await client.call(endpoints.replayEvents, { query: { limit: 10_000 } }),
    await client.call(endpoints.getDiagnostics, {}),
    given.logLines(),
  ];
  expect(JSON.stringify(shown)).not.toContain(SECRET);
  expect(await rowsIn(client, 'session_mcp_servers')).toBe(1);
  await client.call(endpoints.closeSession, { params, body: {} });
  // Rows are counted at the start and once a minute.
  await harness.restart();
  expect(await rowsIn(harness.client, 'session_mcp_servers')).toBe(0);
});

test('A turn fails with the name of an MCP server whose transport the agent does not support.', async () => {
  const { firstTurn } = await testRawAgent(takes({}));
  expect((await firstTurn('hello', { mcp_servers })).turn).toMatchObject({
    status: 'failed',
    error: {
      code: 'provider_unavailable',
      message:
        'acp: this agent does not support MCP servers over http: open the session without MCP server "far"',
    },
  });
  expect((await firstTurn('hello', { mcp_servers: mcp_servers.slice(0, 1) })).turn).toMatchObject({
    status: 'completed',
  });
});

test('MCP servers with an invalid name or an unsupported transport are refused.', async () => {
  const { open, client, cwd } = await testRawAgent({});
  const [one] = mcp_servers;
  await expect(open({ mcp_servers: [one, one] })).rejects.toThrow(/two servers with the same name/);
  await expect(open({ mcp_servers: [{ ...one, name: 'cadre' }] })).rejects.toThrow(
    /not start with "cadre"/,
  );
  const sse = [{ type: 'sse' as const, name: 'old', url: 'http://127.0.0.1:9/' }];
  const body = { provider: 'codex' as const, cwd, mcp_servers: sse };
  await expect(client.call(endpoints.createSession, { body })).rejects.toThrow(
    /provider codex does not support MCP servers over sse: leave out server "old"/,
  );
});
