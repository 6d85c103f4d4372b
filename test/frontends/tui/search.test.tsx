import { test } from 'vitest';
import { testDemo } from '../../support/demo-server.ts';
import { keys, testScreen } from '../../support/tui/stage.tsx';
import { openSession, runTurn } from '../../support/turns.ts';

test('A search finds messages while the user types, and opens the conversation at the message.', async () => {
  const { client, directory } = await testDemo();
  const { id } = await openSession(client, directory, { title: 'the zebra' });
  for (const n of [1, 2, 3]) await runTurn(client, id, `say ${`line of ${n}\n`.repeat(30)}`);
  await openSession(client, directory, { title: 'another' });
  const { expectShows, expectHides, press } = testScreen(client, { page: 'top' });
  await expectShows(/another/);
  await press('f');
  await expectShows('Search:');
  await press('line of 1');
  await expectShows(/▌.* answer the zebra/);
  await press(keys.down);
  await expectShows(/▌.* prompt the zebra/);
  await press(keys.enter);
  await expectShows(/the zebra/);
  await expectShows(/> say line of 1/);
  await press('f', 'nobody said this');
  await expectShows('No results');
  await press(keys.escape);
  await expectHides('Search:');
});
