import { test } from 'vitest';
import { testDemo } from '../../support/demo-server.ts';
import { keys, testScreen } from './test-screen.tsx';
import { openSession, runTurn, withSession } from '../../support/turns.ts';

test('A search finds messages while the user types, and opens the conversation at the message.', async () => {
  const { client, directory, id } = await withSession(testDemo(), { title: 'the zebra' });
  for (const n of [1, 2, 3]) await runTurn(client, id, `say ${`line of ${n}\n`.repeat(30)}`);
  await openSession(client, directory, { title: 'another' });
  const { expectShows, press } = testScreen(client, { page: 'top' });
  await expectShows(/another/);
  await press('f').shows('Search:');
  await press('line of 1').shows(/▌.* answer the zebra/);
  await press(keys.down).shows(/▌.* prompt the zebra/);
  await press(keys.enter).shows(/the zebra/);
  await expectShows(/> say line of 1/);
  await press('f', 'nobody said this').shows('No results');
  await press(keys.escape).hides('Search:');
});
