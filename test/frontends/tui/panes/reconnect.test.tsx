import { expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { ConversationModel } from '../../../../src/frontends/tui/panes/conversation-model.ts';
import { ConversationPane, LogPane } from '../../../../src/frontends/tui/panes/pane.tsx';
import { LogModel } from '../../../../src/frontends/tui/panes/log-model.ts';
import { testDemo } from '../../../support/demo-server.ts';
import { keptPort } from '../../../support/kept-port.ts';
import { testServer } from '../../../support/server.ts';
import { testPane } from './test-pane.tsx';
import { openSession, runTurn, send } from '../../../support/turns.ts';

test('A server that is killed and comes back is followed again: what it did is shown once, and nothing is lost.', async () => {
  const port = await keptPort();
  const first = await testServer({ args: ['--port', String(port)] });
  const { client, directory } = first;
  const { id } = await openSession(client, directory);
  const { process } = await client.call(endpoints.createProcess, {
    body: { command: 'echo printed; sleep 60', cwd: directory },
  });
  const given = { client, clock: systemClock };
  const log = new LogModel({ ...given, processId: process.process_id });
  const conversation = new ConversationModel({ ...given, sessionId: id });
  const logHarness = testPane(log, LogPane);
  await logHarness.expectShows(/^printed/m);
  const { expectShows, lines } = testPane(conversation, ConversationPane);
  await send(client, id, 'say before; wait 60000');
  await expectShows(/^before/m);
  await first.end('SIGKILL');
  await expectShows('reconnecting');
  await logHarness.expectShows('reconnecting');
  const second = await testDemo({ directory, port });
  await expectShows(/^Turn failed/m);
  await runTurn(second.client, id, 'say after');
  await expectShows(/^after/m);
  expect(lines().filter((line) => line.trimEnd() === 'before')).toHaveLength(1);
  await logHarness.expectShows('exited');
  expect(logHarness.lines()[0]?.trimEnd()).toBe('printed');
});
