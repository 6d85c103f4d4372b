import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { until } from '../../support/providers/calls.ts';
import {
  type RawClaude,
  sharedRawClaude,
  testRawClaude,
} from '../../support/providers/raw-claude.ts';

const on = sharedRawClaude();

interface Rpc {
  id?: number;
  method: string;
  params?: object;
}

/** Sends a message to the tools of cadre and resolves with the response. */
async function sendToTools(claude: RawClaude, name: string, message: Rpc): Promise<unknown> {
  const request = {
    subtype: 'mcp_message',
    server_name: 'cadre',
    message: { jsonrpc: '2.0', ...message },
  };
  claude.send({ type: 'control_request', request_id: name, request });
  await until(`${name} is answered`, () => claude.answerTo(name) !== undefined);
  const { response } = claude.answerTo(name) as { response: { mcp_response: object } };
  return response.mcp_response;
}

function firstOf(agents: readonly RawClaude[]): RawClaude {
  const [claude] = agents;
  if (!claude) throw new Error('no claude was started');
  return claude;
}

async function shakeHands(claude: RawClaude): Promise<void> {
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'c', version: '1' },
  };
  const answer = await sendToTools(claude, 'hello', { id: 0, method: 'initialize', params });
  expect(answer).toMatchObject({ id: 0, result: { serverInfo: { name: 'cadre' } } });
  await sendToTools(claude, 'ready', { method: 'notifications/initialized' });
}

test('Claude receives the tools of cadre at its start, and they need no permission of claude.', async () => {
  const { open, agents } = on({});
  await (await open()).run('x');
  const [claude] = agents;
  expect(claude?.requests('initialize')).toMatchObject([{ sdkMcpServers: ['cadre'] }]);
  expect(claude?.args).toContain('--allowedTools=mcp__cadre');
});

/** The tool policy allows agents to run commands. */
const freed = { gateway: { free: ['cadre_process_run'] } };

test('Claude calls the tools of cadre over its control channel, as its own session.', async () => {
  const { firstTurn, agents } = await testRawClaude({}, freed);
  const { session } = await firstTurn('x');
  const claude = firstOf(agents);
  await shakeHands(claude);
  const listed = await sendToTools(claude, 'list', { id: 1, method: 'tools/list' });
  expect(JSON.stringify(listed)).toContain('cadre_process_run');
  const args = { command: 'echo $CADRE_SESSION_ID', wait_ms: 30_000 };
  const params = { name: 'cadre_process_run', arguments: args };
  const called = await sendToTools(claude, 'call', { id: 2, method: 'tools/call', params });
  expect(JSON.stringify(called)).toContain(session.id);
});

test('The tools of cadre answer without a handshake: an earlier server may have had it.', async () => {
  const { firstTurn, agents } = on({});
  await firstTurn('x');
  const claude = firstOf(agents);
  const params = { name: 'cadre_process_status', arguments: {} };
  const called = await sendToTools(claude, 'call', { id: 2, method: 'tools/call', params });
  expect(called).toMatchObject({ id: 2, result: { structuredContent: { ok: true } } });
});

test('Two messages with one id that claude sends at once both get their own answer.', async () => {
  const { firstTurn, agents } = on({});
  await firstTurn('x');
  const claude = firstOf(agents);
  const params = { name: 'cadre_process_status', arguments: {} };
  const [called, listed] = await Promise.all([
    sendToTools(claude, 'call', { id: 2, method: 'tools/call', params }),
    sendToTools(claude, 'list', { id: 2, method: 'tools/list' }),
  ]);
  expect(called).toMatchObject({ id: 2, result: { structuredContent: { ok: true } } });
  expect(listed).toMatchObject({ id: 2, result: { tools: expect.any(Array) as unknown[] } });
});

test('A tool call that claude cancels cancels its approval, and so does the end of claude.', async () => {
  const { open, agents, client } = on({ turns: { go: (claude) => shakeHands(claude) } });
  const session = await open({ permission_mode: 'require_approval' });
  const turnId = await session.send('go');
  await until('the hands are shaken', () => agents[0]?.answerTo('ready') !== undefined);
  const claude = firstOf(agents);
  const ids = { session_id: session.id };
  const statuses = async () => {
    const all = await client.call(endpoints.listSessionApprovals, { params: ids });
    return all.map(({ status }) => status);
  };
  const run = (id: number) => {
    const params = { name: 'cadre_process_run', arguments: { command: 'true' } };
    void sendToTools(claude, `call ${id}`, { id, method: 'tools/call', params }).catch(
      () => undefined,
    );
  };
  run(5);
  await until('it is asked for', async () => (await statuses())[0] === 'pending');
  const params = { requestId: 5 };
  await sendToTools(claude, 'back', { method: 'notifications/cancelled', params });
  await until('it is taken back', async () => (await statuses())[0] === 'cancelled');
  run(6);
  await until('it is asked for', async () => (await statuses())[0] === 'pending');
  claude.exit(1);
  await session.watch.end(turnId);
  expect(await statuses()).toEqual(['cancelled', 'cancelled']);
});
