import { expect, it } from 'vitest';
import { ProviderError } from '../../../src/agents/provider.ts';
import { endOf } from '../../support/sessions/harness.ts';
import { testTeam } from '../../support/teams/team.ts';

const policy = 'start_new_turn_only';

it('A message whose retry finds its recipient busy is in no later turn.', async () => {
  const { teamHarness, harness, agents } = await testTeam();
  const [, recipient] = agents;
  if (!recipient) throw new Error('the team has no second member');
  harness.provider.refuseOpen(new ProviderError('provider_unavailable', 'not now'));
  const { delivery } = await teamHarness.say('now', { policy });
  await teamHarness.moved(delivery, 'deferred');
  const work = await harness.startTurn(recipient, 'work');
  expect((await teamHarness.retry(delivery)).body).toMatchObject({
    status: 'failed',
    error: { code: 'recipient_busy' },
  });
  await harness.complete(work);
  const { turn_id } = (await harness.send(recipient, 'next')).body;
  const next = await harness.provider.nextTurn();
  expect(next.text).toBe('next');
  next.end({ status: 'completed', error: null });
  await harness.until(endOf(turn_id));
  expect((await teamHarness.delivery(delivery.id)).status).toBe('failed');
});

it('A delivery of a large broadcast that found its recipient busy fails once, also if the session is closed later.', async () => {
  const { teamHarness, harness, agents } = await testTeam(18);
  const [, recipient] = agents;
  if (!recipient) throw new Error('the team has no second member');
  await harness.startTurn(recipient, 'work');
  const { body } = await teamHarness.broadcast('now', { policy });
  const delivery = body.deliveries.find((one) => one.recipient_agent_id === recipient.id);
  if (!delivery) throw new Error('the broadcast did not reach the second member');
  await teamHarness.moved(delivery, 'failed');
  await harness.close(recipient.id);
  expect(await teamHarness.movesOf(delivery)).toEqual(['pending', 'failed']);
});
