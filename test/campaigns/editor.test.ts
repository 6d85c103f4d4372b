import { test } from 'vitest';
import { HttpClient } from '../../src/client/client.ts';
import { openEditor } from '../support/acp/editor.ts';
import { withRestartableServer } from '../support/acp/restartable-server.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { runTurn, send } from '../support/turns.ts';

test('An editor that shows notices reports that the server is lost and that it is back.', () =>
  withRestartableServer(async ({ place, directory, restart }) => {
    const editor = await openEditor(place, {
      connect: () => Promise.resolve(new HttpClient({ ...place })),
      capabilities: { session: { notices: {} } },
    });
    const { sessionId } = await editor.open(directory);
    const client = new HttpClient(place);
    await runTurn(client, sessionId, 'say hi');
    client.close();
    await restart();
    await editor.untilUpdate((one) => one.sessionUpdate === 'notice' && one.severity === 'warning');
    await editor.untilUpdate((one) => one.sessionUpdate === 'notice' && one.severity === 'info');
    const other = new HttpClient(place);
    await send(other, sessionId, 'say again');
    await expectEventually(() => editor.text()).toBe('hiagain');
    other.close();
  }));
