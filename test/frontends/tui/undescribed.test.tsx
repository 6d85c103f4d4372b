import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { testRawAgent } from '../../support/providers/raw-agent.ts';
import { asking, onGo } from '../../support/providers/rows.ts';
import { keys, testScreen } from './test-screen.tsx';

test('The screen accepts what the agent does not describe only with a typed word.', async () => {
  const { client, open } = await testRawAgent(
    onGo(async (agent) => {
      await agent.ask({ toolCallId: 'u1', title: 'Shell', kind: 'execute' });
      return { stopReason: 'end_turn' };
    }),
  );
  const session = await open(asking);
  const turnId = await session.send('go');
  const accepted = () => client.call(endpoints.listApprovals, { query: { status: 'accepted' } });
  const { expectShows, press } = testScreen(client, { page: 'top' });
  await expectShows('NEEDS APPROVAL 1');
  await press('a').shows('does not say what this request would do');
  await expectShows('⏎ approve');
  await press('y').shows('Type yes to approve (the request is incomplete):');
  // Another word accepts nothing.
  await press('no', keys.enter).hides('Type yes to approve (the request is incomplete):');
  expect(await accepted()).toEqual([]);
  await press('y').shows('Type yes to approve (the request is incomplete):');
  await press('yes', keys.enter);
  await expectEventually(async () => (await accepted()).length).toBe(1);
  await session.watch.end(turnId);
});
