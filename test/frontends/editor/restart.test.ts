import { methods } from '@agentclientprotocol/sdk/unstable';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { HttpClient } from '../../../src/client/client.ts';
import { openEditor } from '../../support/acp/editor.ts';
import { withRestartableServer } from '../../support/acp/restartable-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { testDemo } from '../../support/demo-server.ts';
import { openSession, send } from '../../support/turns.ts';

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
