import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { testDemo } from '../../support/demo-server.ts';
import { runTurn, withSession } from '../../support/turns.ts';
import { keys, testScreen } from './test-screen.tsx';

const start = { page: 'top' } as const;

test('A session is forked after the turn that a user selects, and the list shows where the fork comes from.', async () => {
  const { client, id } = await withSession(testDemo(), { title: 'the parser' });
  const { turn } = await runTurn(client, id, 'say one');
  await runTurn(client, id, 'say two');
  const { press, expectShows } = testScreen(client, start, { rows: 20, columns: 160 });
  await expectShows('the parser');
  await press(':', 'fork').shows('Fork a session after one of its turns');
  await press(keys.enter).shows(/▌.*say two/);
  await press('j').shows(/▌.*say one/);
  await press(keys.enter).hides('select the last turn of the fork');
  const forks = async () => {
    const sessions = await client.call(endpoints.listSessions, { query: {} });
    return sessions.flatMap(({ forked_from: from }) => (from ? [from.turn_id] : []));
  };
  await expectEventually(forks).toEqual([turn.turn_id]);
  await expectShows(`forked from ${id.slice(-8)}`);
});

test('A session without a completed turn offers nothing to fork.', async () => {
  const { client } = await withSession(testDemo(), { title: 'the parser' });
  const { press, expectShows } = testScreen(client, start);
  await expectShows('the parser');
  await press('F').shows('No completed turn to fork after');
  await press(keys.enter, keys.escape).hides('No completed turn');
  expect(await client.call(endpoints.listSessions, { query: {} })).toHaveLength(1);
});
