import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { testDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { keys, testScreen } from './test-screen.tsx';
import { send, withSession } from '../../support/turns.ts';

test('A request on the screen has the keys of the prompt: l leaves it pending, v goes to its beginning, n declines it.', async () => {
  const { client, id } = await withSession(testDemo(), { permission_mode: 'require_approval' });
  await send(client, id, 'ask rm -rf build');
  const withStatus = async (status: 'pending' | 'declined') =>
    (await client.call(endpoints.listApprovals, { query: { status } })).length;
  const { expectShows, press } = testScreen(client, { page: 'top' });
  await expectShows('NEEDS APPROVAL 1');
  await press('a').shows('⏎ approve');
  await press('l').hides('⏎ approve');
  expect(await withStatus('pending')).toBe(1);
  await press('a').shows('⏎ approve');
  await press('v').shows('tool: rm -rf build');
  await press('n').shows('Reason (optional, ⏎ declines):');
  await press(keys.enter);
  await expectEventually(() => withStatus('declined')).toBe(1);
});
