import { methods } from '@agentclientprotocol/sdk/unstable';
import { expect, test } from 'vitest';
import type { Endpoint } from '../../../src/api/endpoint.ts';
import { AppError } from '../../../src/api/errors.ts';
import { endpoints } from '../../../src/api/index.ts';
import { type CallInput, HttpClient } from '../../../src/client/client.ts';
import { openEditor } from '../../support/acp/editor.ts';
import { withRestartableServer } from '../../support/acp/restartable-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { testDemo } from '../../support/demo-server.ts';
import { openSession, runTurn, send, withSession } from '../../support/turns.ts';

test('A prompt fails with the reason after SIGKILL of the server, and the next prompt works.', () =>
  withRestartableServer(async ({ place, directory, restart }) => {
    const connect = () => Promise.resolve(new HttpClient({ ...place }));
    const editor = await openEditor(place, { connect });
    const idle = await openEditor(place, { connect });
    const { sessionId } = await editor.open(directory);
    const prompt = editor.prompt(sessionId, 'say begun; silent');
    await editor.untilUpdate((one) => one.sessionUpdate === 'agent_message_chunk');
    const [failure] = await Promise.all([prompt.catch((error: unknown) => error), restart()]);
    expect(failure).toMatchObject({
      message: 'the server died while an agent was running this turn',
    });
    expect(await editor.prompt(sessionId, 'history')).toMatchObject({ stopReason: 'end_turn' });
    expect(editor.text()).toContain('last prompt: say begun; silent');
    // The editor receives nothing twice.
    expect(editor.text().match(/begun/g)).toHaveLength(2);
    // An editor without an open session finds the new server too.
    const { sessions } = await idle.agent.request(methods.agent.session.list, {});
    expect(sessions).toMatchObject([{ sessionId }]);
  }));

test('A permission request that is open when the server dies can be answered after the restart.', () =>
  withRestartableServer(async ({ place, directory, restart }) => {
    const answer = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const editor = await openEditor(place, {
      connect: () => Promise.resolve(new HttpClient({ ...place })),
      async askUser() {
        asked.resolve();
        await answer.promise;
        return { outcome: 'selected', optionId: 'once' };
      },
    });
    const { sessionId } = await editor.open(directory);
    const prompt = editor.prompt(sessionId, 'ask run: touch it; say over');
    await asked.promise;
    await restart();
    answer.resolve();
    expect(await prompt).toMatchObject({ stopReason: 'end_turn' });
    const params = { session_id: sessionId };
    const client = new HttpClient(place);
    const approvals = await client.call(endpoints.listSessionApprovals, { params });
    client.close();
    expect(approvals).toMatchObject([
      { status: 'accepted', title: expect.stringContaining('touch it') as string },
    ]);
  }));

test('An editor shows that its session was closed elsewhere, and prompts are refused.', async () => {
  const { client, url, token, directory } = await testDemo();
  const { id } = await openSession(client, directory);
  const editor = await openEditor({ url, token });
  await editor.agent.request(methods.agent.session.resume, { sessionId: id, cwd: directory });
  const params = { session_id: id };
  await send(client, id, 'say hi');
  await expectEventually(() => editor.text()).toBe('hi');
  await client.call(endpoints.closeSession, { params, body: { reason: 'all done' } });
  await expectEventually(() => editor.text()).toContain('[The session is closed: all done]');
  await expect(editor.prompt(id, 'more')).rejects.toMatchObject({
    data: { code: 'session_closed' },
  });
});

/** A client whose requests for items of turns are refused, as often as it is said. */
class RefusingClient extends HttpClient {
  refusals = 1;

  override ask<E extends Endpoint>(endpoint: E, input: CallInput<E>, ...more: [AbortSignal?]) {
    if (endpoint.path !== endpoints.listItems.path || this.refusals-- <= 0)
      return super.ask(endpoint, input, ...more);
    return Promise.reject(new AppError('storage_damaged', 'the items cannot be read'));
  }
}

test('A session whose history cannot be sent to an editor is not open there, and can be loaded again.', async () => {
  const server = await testDemo();
  const { client, directory, id } = await withSession(server);
  await runTurn(client, id, 'say before');
  const refusing = new RefusingClient(server);
  const editor = await openEditor(server, { connect: () => Promise.resolve(refusing) });
  const params = { sessionId: id, cwd: directory, mcpServers: [] };
  const load = () => editor.agent.request(methods.agent.session.load, params);
  await expect(load()).rejects.toThrow('the items cannot be read');
  await expect(editor.prompt(id, 'say lost')).rejects.toThrow(/load the session first/);
  await load();
  await editor.prompt(id, 'say after');
  expect(editor.text()).toBe('beforeafter');
});

test('A session that an editor always gets is not open there if its history cannot be sent.', async () => {
  const server = await testDemo();
  const { client, directory, id } = await withSession(server);
  await runTurn(client, id, 'say before');
  const refusing = new RefusingClient(server);
  const connect = () => Promise.resolve(refusing);
  const editor = await openEditor(server, { connect, fixed: id });
  await editor.open(directory);
  await editor.untilUpdate((one) => JSON.stringify(one).includes('the items cannot be read'));
  await expectEventually(() =>
    editor.prompt(id, 'say lost').catch((error: unknown) => String(error)),
  ).toMatch(/load the session first/);
});
