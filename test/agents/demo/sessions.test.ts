import { expect, test } from 'vitest';
import { openClient, type TestClient, openSession } from './client.ts';
import { testDirectory } from '../../support/temp.ts';

test('The agent reports its name and its capabilities.', async () => {
  const { agent } = await openClient();
  expect(await agent.request('initialize', { protocolVersion: 1 })).toMatchObject({
    protocolVersion: 1,
    agentInfo: { name: 'cadre-demo' },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true },
      sessionCapabilities: { list: {}, resume: {}, close: {}, fork: {} },
    },
  });
});

test('A session starts in the default mode and lists the other modes.', async () => {
  const { agent } = await openClient();
  const { modes } = await agent.request('session/new', { cwd: '/work', mcpServers: [] });
  expect(modes?.currentModeId).toBe('default');
  expect(modes?.availableModes.map(({ id }) => id)).toEqual([
    'default',
    'read_only',
    'workspace_write',
    'full_access',
  ]);
});

test('A session runs its prompts one after the other, in their order.', async () => {
  const { client, sessionId } = await openSession();
  await Promise.all([
    client.prompt(sessionId, 'wait 10; say one'),
    client.prompt(sessionId, 'history; say two'),
    client.prompt(sessionId, 'say three'),
  ]);
  expect(client.said()).toBe('[one][earlier turns: 1; last prompt: wait 10; say one][two][three]');
});

test('A session runs the next prompt after one that failed.', async () => {
  const { client, sessionId } = await openSession();
  const [failed, next] = await Promise.allSettled([
    client.prompt(sessionId, 'fail first'),
    client.prompt(sessionId, 'say next'),
  ]);
  expect([failed.status, next.status]).toEqual(['rejected', 'fulfilled']);
});

test('A session does not wait for the turns of another session.', async () => {
  const client = await openClient();
  const [busy, free] = [await client.newSession(), await client.newSession()];
  const answer = client.prompt(busy, 'silent');
  expect(await client.prompt(free, 'say hi')).toMatchObject({ stopReason: 'end_turn' });
  await client.cancel(busy);
  await answer;
});

test('A session can be resumed after a restart, with its turns and its mode.', async () => {
  const { client, sessionId } = await restarted();
  const resumed = await client.agent.request('session/resume', { sessionId, cwd: '/work' });
  expect(resumed.modes?.currentModeId).toBe('read_only');
  expect(client.updates).toEqual([]);
  await client.prompt(sessionId, 'history; mode');
  expect(client.said()).toBe('[earlier turns: 2; last prompt: say two][read_only]');
});

test('A fork has the turns of a session until then, and both sessions continue apart.', async () => {
  const { client, sessionId } = await restarted();
  const forked = await client.agent.request('session/fork', { sessionId, cwd: '/work' });
  await client.prompt(forked.sessionId, 'history; say three');
  await client.agent.request('session/resume', { sessionId, cwd: '/work' });
  await client.prompt(sessionId, 'history');
  expect(client.said()).toBe(
    '[earlier turns: 2; last prompt: say two][three][earlier turns: 2; last prompt: say two]',
  );
});

test('A session that is loaded after a restart is replayed with its message ids.', async () => {
  const { client, sessionId, updates } = await restarted();
  await client.agent.request('session/load', { sessionId, cwd: '/work', mcpServers: [] });
  expect(client.updates).toMatchObject([
    { sessionUpdate: 'user_message_chunk', content: { text: 'say one' } },
    { sessionUpdate: 'agent_message_chunk', content: { text: 'one' } },
    { sessionUpdate: 'user_message_chunk', content: { text: 'say two' } },
    { sessionUpdate: 'agent_message_chunk', content: { text: 'two' } },
  ]);
  expect(client.updates[3]).toEqual(
    updates.findLast(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk'),
  );
});

test('A session uses new message ids after a restart.', async () => {
  const { client, sessionId, updates } = await restarted();
  await client.agent.request('session/resume', { sessionId, cwd: '/work' });
  await client.prompt(sessionId, 'say three');
  expect(updates).not.toContainEqual(
    expect.objectContaining({ messageId: `${sessionId}-3-message-1` }),
  );
  expect(client.updates[0]).toMatchObject({ messageId: `${sessionId}-3-message-1` });
});

test('A session can be loaded before its first prompt, and moves to the given directory.', async () => {
  const stateDir = testDirectory();
  const sessionId = await (await openClient({ stateDir })).newSession('/old');
  const client = await openClient({ stateDir });
  await client.agent.request('session/load', { sessionId, cwd: '/new', mcpServers: [] });
  await client.prompt(sessionId, 'cwd');
  expect(client.said()).toBe('[/new]');
});

test('A session is listed with its directory and its first prompt, newest first.', async () => {
  const client = await openClient();
  const older = await client.newSession('/a');
  const newer = await client.newSession('/b');
  await client.prompt(older, 'say hi\nand more');
  await client.prompt(newer, 'wait 10');
  const { sessions } = await client.agent.request('session/list', {});
  expect(sessions).toMatchObject([
    { sessionId: newer, cwd: '/b', title: 'wait 10' },
    { sessionId: older, cwd: '/a', title: 'say hi' },
  ]);
  const inA = await client.agent.request('session/list', { cwd: '/a' });
  expect(inA.sessions.map(({ sessionId }) => sessionId)).toEqual([older]);
});

test('A closed session refuses prompts until it is opened again.', async () => {
  const { client, sessionId } = await openSession();
  await client.agent.request('session/close', { sessionId });
  await expect(client.prompt(sessionId, 'say hi')).rejects.toMatchObject({ code: -32_002 });
  await client.agent.request('session/resume', { sessionId, cwd: '/work' });
  expect(await client.prompt(sessionId, 'say hi')).toMatchObject({ stopReason: 'end_turn' });
});

test('A session reports its new mode and refuses an unknown mode.', async () => {
  const { client, sessionId } = await openSession();
  await client.agent.request('session/set_mode', { sessionId, modeId: 'workspace_write' });
  expect(client.updates).toEqual([
    { sessionUpdate: 'current_mode_update', currentModeId: 'workspace_write' },
  ]);
  await expect(
    client.agent.request('session/set_mode', { sessionId, modeId: 'sudo' }),
  ).rejects.toMatchObject({ code: -32_602, message: 'Invalid params: unknown mode "sudo"' });
});

test.each([
  ['session/prompt', { prompt: [] }],
  ['session/load', { cwd: '/work', mcpServers: [] }],
  ['session/resume', { cwd: '/work' }],
  ['session/set_mode', { modeId: 'default' }],
])('An unknown session is refused by %s.', async (method, params) => {
  const { agent } = await openClient();
  for (const sessionId of ['unknown', '../../etc/passwd', '']) {
    const request = agent.request(method, { ...params, sessionId });
    await expect(request).rejects.toMatchObject({ code: -32_002, data: { sessionId } });
  }
});

async function restarted(): Promise<{
  client: TestClient;
  sessionId: string;
  updates: TestClient['updates'];
}> {
  const stateDir = testDirectory();
  const before = await openClient({ stateDir });
  const sessionId = await before.newSession();
  await before.prompt(sessionId, 'say one');
  await before.prompt(sessionId, 'say two');
  await before.agent.request('session/set_mode', { sessionId, modeId: 'read_only' });
  await before.disconnect();
  return { client: await openClient({ stateDir }), sessionId, updates: before.updates };
}
