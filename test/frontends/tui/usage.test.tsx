import { test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { testDemo } from '../../support/demo-server.ts';
import { keys, testScreen } from './test-screen.tsx';
import { runTurn, withSession } from '../../support/turns.ts';

test('The dialog u shows budgets and usage by day, session, provider or team; a budget is accepted with keys.', async () => {
  const { client, id } = await withSession(testDemo(), { title: 'the job' });
  const body = { session_id: id, tokens: 1000 };
  await client.call(endpoints.setBudget, { body });
  await runTurn(client, id, 'usage 1234 2000; say Hello.');
  const { expectShows, press } = testScreen(client, { page: 'top' });
  await expectShows(/◆ +continue although the bu/);
  await press('u');
  await expectShows(
    `Budget of session "the job" (${id.slice(-8)}): 1,234 of 1,000 tokens  reached`,
  );
  await expectShows(/day +turns +tokens +cost\n\d{4}-\d\d-\d\d +1 +1,234 +-\ntotal +1 +1,234 +-/);
  await press('s').shows(new RegExp(`${id.slice(-8)} +the job +1 +1,234`));
  await press('p').shows(/acp .* 1 +1,234/);
  await press('t').shows(/no team +1 +1,234/);
  await press('q');
  await press('a').shows('2,234 tokens');
  // An approval is not accepted before it was shown to its end.
  await expectShows('⏎ approve');
  await press('y').shows('▌●  the job');
  await press(keys.up).shows('1:Needs you 0');
});
