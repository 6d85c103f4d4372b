import { expect, it } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { startServer } from '../../../support/server.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession, runTurn } from '../../../support/turns.ts';

it('A conversation with an ACP agent goes from another program to cadre, back, and to cadre again.', async () => {
  const cwd = testDirectory('acp-work');
  const env = { CADRE_DEMO_STATE: testDirectory('acp-state') };
  // A server with other data stands for another program with the same agent.
  const home = testDirectory('acp-other');
  const other = await startServer(home, { env });
  const theirs = await openSession(other.client, cwd);
  await runTurn(other.client, theirs.id, 'say one');
  await runTurn(other.client, theirs.id, 'say two');
  await other.end('SIGTERM');

  const { client, end } = await startServer(testDirectory('acp-cadre'), { env });
  try {
    const params = { provider: 'acp' as const };
    const listed = await client.call(endpoints.listConversations, { params, query: { cwd } });
    expect(listed).toMatchObject([{ title: 'say one', cwd, session_id: null, in_use: null }]);
    const [{ ref } = { ref: '' }] = listed;
    const opened = await client.call(endpoints.createSession, {
      body: { provider: 'acp', import: { ref } },
    });
    const session = { session_id: opened.id };
    const past = async () => {
      const found = await client.call(endpoints.listPastTurns, { params: session, query: {} });
      return found.toReversed().map(({ prompt, items }) => [prompt, items[0]?.text]);
    };
    const before = [
      ['say one', 'one'],
      ['say two', 'two'],
    ];
    expect(await past()).toEqual(before);
    expect((await runTurn(client, opened.id, 'say three')).turn.text).toBe('three');
    const back = await client.call(endpoints.handBackSession, { params: session, body: {} });
    expect(back).toMatchObject({ ref, cwd });

    const again = await startServer(home, { env });
    await runTurn(again.client, theirs.id, 'say four');
    await again.end('SIGTERM');
    await runTurn(client, opened.id, 'say five');
    expect(await past()).toEqual([...before, ['say four', 'four']]);
    const { turn } = await runTurn(client, opened.id, 'history');
    expect(turn.text).toBe('earlier turns: 5; last prompt: say five');
  } finally {
    await end('SIGTERM');
  }
});
