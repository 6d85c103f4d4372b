import { mkdirSync } from 'node:fs';
import path from 'node:path';
import {
  type ListSessionsResponse,
  methods,
  type SessionUpdate,
} from '@agentclientprotocol/sdk/unstable';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { HttpClient } from '../../../src/client/client.ts';
import { AppError } from '../../../src/api/errors.ts';
import { choose, connectEditor, openEditor } from '../../support/acp/editor.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { png } from '../../support/providers/png.ts';
import { openSession, runTurn, send, withSession } from '../../support/turns.ts';

const server = sharedDemo();
const of = methods.agent.session;

/** Returns the kinds of the updates that belong to the conversation. */
function course(updates: readonly SessionUpdate[]): string[] {
  return updates
    .map(({ sessionUpdate }) => sessionUpdate)
    .filter((kind) => kind !== 'session_info_update' && kind !== 'available_commands_update');
}

/** Opens an editor and a session in the directory of the server. */
async function opened() {
  const { client, directory } = server();
  const editor = await openEditor(server());
  return { client, directory, editor, ...(await editor.open(directory)) };
}

test('The answer to initialize has the version and the capabilities.', async () => {
  const { hello } = await openEditor(server());
  expect(hello).toMatchObject({
    protocolVersion: 1,
    agentInfo: { name: 'cadre', version: '9.8.7' },
    authMethods: [],
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, embeddedContext: true },
      mcpCapabilities: { http: true, sse: true },
      sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, title: {} },
    },
  });
});

test('An editor without a server gets the command that starts one, and works once it runs.', async () => {
  let isThere = false;
  const connect = async () => {
    if (isThere) return new HttpClient(server());
    throw new AppError('unreachable', 'no server is running: start one with cadre serve --detach');
  };
  const { agent } = connectEditor(server(), { connect });
  const initialize = () => agent.request(methods.agent.initialize, { protocolVersion: 1 });
  await expect(initialize()).rejects.toMatchObject({
    code: -32603,
    message: 'no server is running: start one with cadre serve --detach',
    data: { code: 'unreachable' },
  });
  isThere = true;
  expect(await initialize()).toMatchObject({ protocolVersion: 1 });
});

test('An editor with a wrong token gets the remedy.', async () => {
  await expect(openEditor({ ...server(), token: 'wrong' })).rejects.toThrow(
    /bearer token: set CADRE_TOKEN for cadre acp, or pass --token-file/,
  );
});

test('A new session opens in the directory with require_approval.', async () => {
  const { client, directory, sessionId, modes, configOptions } = await opened();
  const session = await client.call(endpoints.getSession, { params: { session_id: sessionId } });
  expect(session).toMatchObject({ cwd: directory, permission_mode: 'require_approval' });
  expect(modes?.currentModeId).toBe('require_approval');
  expect(configOptions).toMatchObject([
    { id: 'mode', category: 'mode', type: 'select' },
    { id: 'agent_mode', category: null, type: 'select', currentValue: 'default' },
  ]);
});

test('A missing directory is refused with the error of the server.', async () => {
  const editor = await openEditor(server());
  await expect(editor.open('/no/such/place')).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('/no/such/place') as string,
  });
});

test('cadre acp --session serves this session, with its conversation.', async () => {
  const { client, id } = await withSession(server());
  await runTurn(client, id, 'say before');
  const editor = await openEditor(server(), { fixed: id });
  expect(await editor.open('/')).toMatchObject({ sessionId: id });
  await editor.prompt(id, 'say after');
  expect(editor.text('user_message_chunk')).toBe('say before');
  expect(editor.text()).toBe('beforeafter');
});

test('A prompt streams thoughts, messages, tool calls and plans in order, and ends with the usage.', async () => {
  const { editor, sessionId } = await opened();
  const script = 'think about it; plan a | b; tool read X => 12 lines; say all done';
  const response = await editor.prompt(sessionId, script);
  expect(response).toMatchObject({
    stopReason: 'end_turn',
    usage: { totalTokens: expect.any(Number) as number },
  });
  expect([...new Set(course(editor.updates))]).toEqual([
    'agent_thought_chunk',
    'plan',
    'tool_call',
    'tool_call_update',
    'agent_message_chunk',
    'usage_update',
  ]);
  expect(editor.text('agent_thought_chunk')).toBe('about it');
  expect(editor.text()).toBe('all done');
  // The editor shows the prompt itself.
  expect(editor.text('user_message_chunk')).toBe('');
  const calls = editor.updates.filter((one) => one.sessionUpdate.startsWith('tool_call'));
  expect(calls).toMatchObject([
    { title: 'read X', status: 'pending', rawInput: { title: 'read X' } },
    { status: 'in_progress' },
    { status: 'completed', content: [{ type: 'content', content: { text: '12 lines' } }] },
  ]);
  expect(new Set(calls.map((one) => 'toolCallId' in one && one.toolCallId)).size).toBe(1);
  expect(
    await editor.untilUpdate((one) => one.sessionUpdate === 'session_info_update'),
  ).toMatchObject({
    title: script,
  });
});

test('A prompt may contain images, links and embedded files.', async () => {
  const { client, editor, sessionId } = await opened();
  await editor.prompt(sessionId, [
    { type: 'text', text: 'look at ' },
    { type: 'resource_link', name: 'a b.ts', uri: 'file:///work/a%20b.ts#L3' },
    { type: 'text', text: ' please' },
    { type: 'resource', resource: { uri: 'file:///work/c.ts', text: 'let c;' } },
    { type: 'image', mimeType: 'image/png', data: png(1, 1).toString('base64') },
  ]);
  const params = { session_id: sessionId };
  const [turn] = await client.call(endpoints.listTurns, { params });
  expect(turn?.input).toMatchObject([
    { type: 'text', text: 'look at [a b.ts](/work/a b.ts#L3) please' },
    { type: 'text', text: '<context source="/work/c.ts">\nlet c;\n</context>' },
    { type: 'image', media_type: 'image/png' },
  ]);
});

test('A prompt with sound or for an unknown session is refused.', async () => {
  const { editor, sessionId } = await opened();
  const sound = [{ type: 'audio' as const, mimeType: 'audio/wav', data: '' }];
  await expect(editor.prompt(sessionId, sound)).rejects.toThrow(/unsupported content type "audio"/);
  await expect(editor.prompt('sess_none', 'hi')).rejects.toMatchObject({ code: -32002 });
});

test('A prompt fails with the error of its turn, and the next prompt works.', async () => {
  const { editor, sessionId } = await opened();
  await expect(editor.prompt(sessionId, 'fail out of luck')).rejects.toMatchObject({
    code: -32603,
    message: 'the agent failed: out of luck',
    data: { code: 'provider_error' },
  });
  await expect(editor.prompt(sessionId, 'crash 3')).rejects.toThrow(/exited with code 3/);
  expect(await editor.prompt(sessionId, 'say again')).toMatchObject({ stopReason: 'end_turn' });
});

test('A cancelled prompt ends as cancelled, also if its request is cancelled.', async () => {
  const { editor, sessionId } = await opened();
  const prompt = editor.prompt(sessionId, 'say begun; silent');
  await editor.untilUpdate((one) => one.sessionUpdate === 'agent_message_chunk');
  await editor.cancel(sessionId);
  expect(await prompt).toMatchObject({ stopReason: 'cancelled' });

  const withdrawal = new AbortController();
  const other = editor.agent.request(
    of.prompt,
    { sessionId, prompt: [{ type: 'text', text: 'plan a | b; silent' }] },
    { cancellationSignal: withdrawal.signal },
  );
  await editor.untilUpdate((one) => one.sessionUpdate === 'plan');
  withdrawal.abort();
  expect(await other).toMatchObject({ stopReason: 'cancelled' });
});

test('A prompt waits for a turn of another client, and can be cancelled while it waits.', async () => {
  const { client, editor, sessionId } = await opened();
  const { turn_id } = await send(client, sessionId, 'say foreign; silent');
  await editor.untilUpdate((one) => one.sessionUpdate === 'agent_message_chunk');
  const first = editor.prompt(sessionId, 'say first');
  const second = editor.prompt(sessionId, 'say second');
  await editor.cancel(sessionId);
  expect(await first).toEqual({ stopReason: 'cancelled' });
  expect(await second).toEqual({ stopReason: 'cancelled' });
  const third = editor.prompt(sessionId, 'say third');
  const params = { session_id: sessionId, turn_id };
  await client.call(endpoints.interruptTurn, { params, body: {} });
  expect(await third).toMatchObject({ stopReason: 'end_turn' });
  expect(editor.text()).toContain('third');
  expect(editor.text()).not.toMatch(/first|second/);
});

test('A turn of another client appears with its prompt, and can be cancelled.', async () => {
  const { client, editor, sessionId } = await opened();
  await send(client, sessionId, 'say from elsewhere; silent');
  await expectEventually(() => editor.text()).toContain('elsewhere');
  expect(editor.text('user_message_chunk')).toBe('say from elsewhere; silent');
  await editor.cancel(sessionId);
  await expectEventually(() => editor.text()).toContain('[The turn was interrupted.]');
});

test('Two editors on one session see the turns of each other.', async () => {
  const { directory } = server();
  const one = await openEditor(server());
  const { sessionId } = await one.open(directory);
  const other = await openEditor(server());
  await other.agent.request(of.load, { sessionId, cwd: directory, mcpServers: [] });
  await one.prompt(sessionId, 'say by one');
  await expectEventually(() => other.text()).toBe('by one');
  await other.prompt(sessionId, 'say by other');
  await expectEventually(() => one.text()).toBe('by oneby other');
  expect(one.text('user_message_chunk')).toBe('say by other');
});

test('A turn continues when its editor leaves.', async () => {
  const { client, directory, editor, sessionId } = await opened();
  const prompt = editor.prompt(sessionId, 'say begun; wait 50; say the end');
  prompt.catch(() => undefined);
  await editor.untilUpdate((one) => one.sessionUpdate === 'agent_message_chunk');
  editor.leave();
  const later = await openEditor(server());
  await later.agent.request(of.load, { sessionId, cwd: directory, mcpServers: [] });
  await expectEventually(() => later.text()).toContain('the end');
  const session = { session_id: sessionId };
  await expectEventually(() =>
    client.call(endpoints.getSession, { params: session }),
  ).toMatchObject({
    status: 'ready',
  });
});

test('session/load sends the whole conversation with the end of each turn.', async () => {
  const { client, directory, id } = await withSession(server());
  await runTurn(client, id, 'think hm; plan a | b; tool read X => 12 lines; say first');
  await runTurn(client, id, 'fail no luck');
  const editor = await openEditor(server());
  const opened = await editor.agent.request(of.load, {
    sessionId: id,
    cwd: directory,
    mcpServers: [],
  });
  expect(opened.modes?.currentModeId).toBe('default');
  expect(course(editor.updates).filter((kind) => kind !== 'usage_update')).toEqual([
    'user_message_chunk',
    'agent_thought_chunk',
    'tool_call',
    'agent_message_chunk',
    'plan',
    'user_message_chunk',
    'agent_message_chunk',
  ]);
  expect(editor.updates.find((one) => one.sessionUpdate === 'tool_call')).toMatchObject({
    status: 'completed',
    content: [{ content: { text: '12 lines' } }],
  });
  expect(editor.text()).toMatch(/^first\s*\[The turn failed: the agent failed: no luck\]\s*$/);
  await editor.prompt(id, 'say next');
  expect(editor.text()).toMatch(/next$/);
});

test('session/load sends a running turn from its start, and then its progress.', async () => {
  const { client, directory, id } = await withSession(server(), {
    permission_mode: 'require_approval',
  });
  await runTurn(client, id, 'say before');
  await send(client, id, 'say begun; ask to go on; say over');
  const first = await openEditor(server(), { askUser: () => new Promise(() => undefined) });
  await first.agent.request(of.load, { sessionId: id, cwd: directory, mcpServers: [] });
  const second = await openEditor(server());
  await second.agent.request(of.load, { sessionId: id, cwd: directory, mcpServers: [] });
  await expectEventually(() => second.text()).toMatch(/^beforebegun.*over$/);
  await expectEventually(() => first.text()).toBe(second.text());
  expect(first.text('user_message_chunk')).toBe('say beforesay begun; ask to go on; say over');
});

test('An unknown session is refused.', async () => {
  const editor = await openEditor(server());
  const load = editor.agent.request(of.load, { sessionId: 'sess_0', cwd: '/', mcpServers: [] });
  await expect(load).rejects.toMatchObject({
    code: -32002,
    message: 'session "sess_0" not found',
  });
});

test('session/resume sends no earlier updates, but the pending requests.', async () => {
  const { client, directory, id } = await withSession(server(), {
    permission_mode: 'require_approval',
  });
  await runTurn(client, id, 'say before');
  await send(client, id, 'ask to go on; say over');
  const query = { session_id: id };
  await expectEventually(
    async () => (await client.call(endpoints.listApprovals, { query })).length,
  ).toBe(1);
  const editor = await openEditor(server());
  await editor.agent.request(of.resume, { sessionId: id, cwd: directory });
  await expectEventually(() => editor.text()).toContain('over');
  expect(editor.text()).not.toContain('before');
  expect(await editor.prompt(id, 'history')).toMatchObject({ stopReason: 'end_turn' });
});

test('session/list returns open sessions, by page and by directory.', async () => {
  const { client, directory } = server();
  const cwd = path.join(directory, 'listed');
  mkdirSync(cwd);
  const kept = await openSession(client, cwd, { title: 'kept' });
  const closed = await openSession(client, cwd, { title: 'closed' });
  await client.call(endpoints.closeSession, { params: { session_id: closed.id }, body: {} });
  const others = Array.from({ length: 101 }, () => openSession(client, directory));
  await Promise.all(others);
  const editor = await openEditor(server());
  const { sessions } = await editor.agent.request(of.list, { cwd: `${cwd}/` });
  expect(sessions).toEqual([
    { sessionId: kept.id, cwd, title: 'kept', updatedAt: expect.stringMatching(/Z$/) as string },
  ]);
  const all: string[] = [];
  for (let cursor: string | null | undefined; ;) {
    const page: ListSessionsResponse = await editor.agent.request(of.list, { cursor });
    all.push(...page.sessions.map((one) => one.sessionId));
    cursor = page.nextCursor;
    if (!cursor) break;
  }
  expect(new Set(all).size).toBe(all.length);
  expect(all.length).toBeGreaterThan(101);
  expect(all).toContain(kept.id);
  expect(all).not.toContain(closed.id);
});

test('session/close ends the prompt of the editor, and the session stays open.', async () => {
  const { client, editor, sessionId } = await opened();
  const prompt = editor.prompt(sessionId, 'say begun; silent');
  await editor.untilUpdate((one) => one.sessionUpdate === 'agent_message_chunk');
  const ended = prompt.then(
    ({ stopReason }) => stopReason,
    () => 'failed',
  );
  await editor.agent.request(of.close, { sessionId });
  expect(await ended).toBe('cancelled');
  const params = { session_id: sessionId };
  await expectEventually(() => client.call(endpoints.getSession, { params })).toMatchObject({
    status: 'ready',
  });
  await expect(editor.prompt(sessionId, 'say more')).rejects.toThrow(/load the session first/);
});

test('session/delete closes the session permanently.', async () => {
  const { client, editor, sessionId } = await opened();
  await editor.agent.request(of.delete, { sessionId });
  const session = await client.call(endpoints.getSession, { params: { session_id: sessionId } });
  expect(session).toMatchObject({
    status: 'closed',
    close_reason: 'a user deleted the session in an editor',
  });
});

test('set_title names the session, and a title from another client reaches the editor.', async () => {
  const { client, editor, sessionId } = await opened();
  expect(await editor.agent.request(of.setTitle, { sessionId, title: 'mine' })).toEqual({
    title: 'mine',
  });
  const params = { session_id: sessionId };
  await client.call(endpoints.updateSession, { params, body: { title: 'theirs' } });
  await editor.untilUpdate(
    (one) => one.sessionUpdate === 'session_info_update' && one.title === 'theirs',
  );
});

test('The permission mode applies to the turns that the editor sends.', async () => {
  const { editor, sessionId } = await opened();
  await editor.agent.request(of.setMode, { sessionId, modeId: 'full_access' });
  await editor.prompt(sessionId, 'mode');
  expect(editor.text()).toBe('full_access');
  const { configOptions } = await editor.agent.request(of.setConfigOption, {
    sessionId,
    configId: 'mode',
    value: 'read_only',
  });
  expect(configOptions[0]).toMatchObject({ id: 'mode', currentValue: 'read_only' });
  await editor.prompt(sessionId, 'mode');
  expect(editor.text()).toBe('full_accessread_only');
  expect(course(editor.updates)).toEqual(
    expect.arrayContaining(['current_mode_update', 'config_option_update']),
  );
});

test('The mode of the agent can be chosen by its name beside the permission mode.', async () => {
  const { editor, sessionId } = await opened();
  const choose = (value: string) =>
    editor.agent.request(of.setConfigOption, { sessionId, configId: 'agent_mode', value });
  const { configOptions } = await choose('full_access');
  expect(configOptions).toMatchObject([
    { id: 'mode', currentValue: 'require_approval' },
    { id: 'agent_mode', currentValue: 'full_access' },
  ]);
  await editor.prompt(sessionId, 'mode');
  expect(editor.text()).toBe('full_access');
  await expect(choose('yolo')).rejects.toThrow(/unknown agent_mode "yolo": choose from default/);
});

test('An unknown mode or option is refused with the offered ones.', async () => {
  const { editor, sessionId } = await opened();
  const set = editor.agent.request(of.setMode, { sessionId, modeId: 'yolo' });
  await expect(set).rejects.toThrow(/unknown mode "yolo": choose from require_approval, default/);
  const option = { sessionId, configId: 'colour', value: 'red' };
  await expect(editor.agent.request(of.setConfigOption, option)).rejects.toThrow(
    /unknown option "colour": choose from mode/,
  );
});

test('A permission request shows the whole action and accepts each answer.', async () => {
  const asked: unknown[] = [];
  for (const [option, says] of [
    ['once', 'allowed (allow_once)'],
    // Cadre keeps the consent, so the agent gets an answer for this call only.
    ['session', 'allowed (allow_once)'],
    ['reject', 'rejected'],
  ] as const) {
    const editor = await openEditor(server(), {
      askUser(request, signal) {
        asked.push(request);
        return choose(option)(request, signal);
      },
    });
    const { sessionId } = await editor.open(server().directory);
    await editor.prompt(sessionId, 'ask run: touch it');
    expect(editor.text()).toContain(says);
  }
  expect(asked[0]).toMatchObject({
    toolCall: {
      title: 'run: touch it',
      kind: 'execute',
      content: [
        {
          type: 'content',
          content: { type: 'text', text: expect.stringContaining('touch it') as string },
        },
      ],
    },
    options: [
      { kind: 'allow_once', name: 'Allow once' },
      {
        kind: 'allow_always',
        name: expect.stringMatching(/^Allow for the session: this exact request/) as string,
      },
      { kind: 'reject_once', name: 'Decline' },
    ],
  });
});

test('An approval request shows a change as a diff, which stays in the tool call.', async () => {
  const ids: string[] = [];
  const editor = await openEditor(server(), {
    askUser(request, signal) {
      ids.push(request.toolCall.toolCallId);
      expect(request.toolCall.content).toMatchObject([
        {
          type: 'diff',
          path: expect.stringMatching(/new\.txt$/) as string,
          oldText: null,
          newText: 'one\n',
        },
        // The second part is the title of the call without its path.
        { type: 'content' },
      ]);
      return choose('once')(request, signal);
    },
  });
  const { sessionId } = await editor.open(server().directory);
  await editor.prompt(sessionId, 'edit new.txt => one');
  const calls = editor.updates.filter((one) => 'toolCallId' in one && ids.includes(one.toolCallId));
  expect(calls.at(0)).toMatchObject({ sessionUpdate: 'tool_call', kind: 'edit' });
  expect(calls.at(-1)).toMatchObject({
    status: 'completed',
    content: [{ type: 'diff', newText: 'one\n' }, { type: 'content' }],
  });
});

test('A permission request is withdrawn when another client has answered.', async () => {
  const { client, directory } = server();
  const asked = Promise.withResolvers<void>();
  const withdrawn = Promise.withResolvers<void>();
  const editor = await openEditor(server(), {
    askUser: (_request, signal) =>
      new Promise((resolve) => {
        asked.resolve();
        signal.addEventListener('abort', () => {
          withdrawn.resolve();
          resolve({ outcome: 'cancelled' });
        });
      }),
  });
  const { sessionId } = await editor.open(directory);
  const prompt = editor.prompt(sessionId, 'ask to go on; say over');
  const query = { session_id: sessionId };
  await asked.promise;
  const [approval] = await client.call(endpoints.listApprovals, { query });
  const params = { session_id: sessionId, approval_id: approval?.id ?? '' };
  await client.call(endpoints.decideApproval, { params, body: { decision: 'accept' } });
  await withdrawn.promise;
  expect(await prompt).toMatchObject({ stopReason: 'end_turn' });
  expect(editor.text()).toContain('over');
});

test('A permission request is dismissed when its prompt is cancelled.', async () => {
  const asked = Promise.withResolvers<void>();
  const editor = await openEditor(server(), {
    askUser: (_request, signal) =>
      new Promise((resolve) => {
        asked.resolve();
        signal.addEventListener('abort', () => resolve({ outcome: 'cancelled' }));
      }),
  });
  const { sessionId } = await editor.open(server().directory);
  const prompt = editor.prompt(sessionId, 'ask to go on; say over');
  await asked.promise;
  await editor.cancel(sessionId);
  expect(await prompt).toMatchObject({ stopReason: 'cancelled' });
});
