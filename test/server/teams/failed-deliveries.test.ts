import { expect, it } from 'vitest';
import { ProviderError } from '../../../src/agents/provider.ts';
import { endOf } from '../../support/sessions/harness.ts';
import { testTeam } from '../../support/teams/team.ts';

const policy = 'start_new_turn_only';

it('A message whose retry finds its recipient busy is in no later turn.', async () => {
  const { cast, stage, agents } = await testTeam();
  const [, recipient] = agents;
  if (!recipient) throw new Error('the team has no second member');
  stage.provider.refuseOpen(new ProviderError('provider_unavailable', 'not now'));
  const { delivery } = await cast.say('now', { policy });
  await cast.moved(delivery, 'deferred');
  const work = await stage.play(recipient, 'work');
  expect((await cast.retry(delivery)).body).toMatchObject({
    status: 'failed',
    error: { code: 'recipient_busy' },
  });
  await stage.complete(work);
  const { turn_id } = (await stage.send(recipient, 'next')).body;
  const next = await stage.provider.nextTurn();
  expect(next.text).toBe('next');
  next.end({ status: 'completed', error: null });
  await stage.until(endOf(turn_id));
  expect((await cast.delivery(delivery.id)).status).toBe('failed');
});

it('A delivery of a large broadcast that found its recipient busy fails once, also if the session is closed later.', async () => {
  const { cast, stage, agents } = await testTeam(18);
  const [, recipient] = agents;
  if (!recipient) throw new Error('the team has no second member');
  await stage.play(recipient, 'work');
  const { body } = await cast.broadcast('now', { policy });
  const delivery = body.deliveries.find((one) => one.recipient_agent_id === recipient.id);
  if (!delivery) throw new Error('the broadcast did not reach the second member');
  await cast.moved(delivery, 'failed');
  await stage.close(recipient.id);
  expect(await cast.movesOf(delivery)).toEqual(['pending', 'failed']);
});
