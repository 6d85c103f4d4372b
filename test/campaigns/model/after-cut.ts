import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import type { Delivery } from '../../../src/api/team-messages.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { openRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider } from '../../support/scripted-provider.ts';
import { messageIdsIn } from '../../support/teams/team.ts';
import type { Core } from './core.ts';
import { faultOf, type Race } from './wake.ts';

const LOOKS = 500;

/**
 * Starts a server on the files that a server leaves which is killed now. Its agents complete each turn. Throws unless each
 * delivery of the race comes to one end, and no agent gets a message twice over both runs.
 */
export async function checkAfterKill(core: Core, race: Race): Promise<void> {
  await using copy = core.copy();
  const receivedIds = race.receivedIds();
  const provider = scriptedProvider((turn) => {
    receivedIds.push(...messageIdsIn(turn.text));
    turn.end(completed);
  });
  const clock = new ManualClock(core.clock.now());
  const given = await openRuntime(path.join(copy.path, 'data'), {
    config: { data: { durability: 'normal' }, log: { level: 'fatal' } },
    clock,
    providers: [provider],
  });
  const { client } = given;
  const session = { session_id: race.recipient.id };
  const list = () =>
    client.call(endpoints.listDeliveries, {
      params: { team_id: race.team },
      query: { limit: 500 },
    });
  const send = () =>
    client
      .call(endpoints.sendTurn, { params: session, body: { input: { type: 'text', text: 'go' } } })
      .catch(() => undefined);
  let deliveries = await list();
  for (let look = 1; !deliveries.every(isOver) && look < LOOKS; look++) {
    // A session that a person has stopped waits for a person. Each other one has to begin by itself.
    const { holds } = await client.call(endpoints.getSessionQueue, { params: session });
    if (holds.some(({ code }) => code === 'stopped')) await send();
    if (look % 10 === 0) clock.advance(1000);
    await nextTurn();
    deliveries = await list();
  }
  provider.drop();
  clock.runFree();
  await given.stop(AbortSignal.abort());
  for (const delivery of deliveries) {
    const times = receivedIds.filter((id) => id === delivery.message_id).length;
    const problem = faultOf(delivery, times, { isCut: true });
    if (problem !== null)
      throw new Error(`${problem}: ${JSON.stringify(delivery)}, in ${times} turns`);
  }
}

function isOver({ status, consumed_at, error }: Delivery): boolean {
  if (status === 'injected') return consumed_at !== null || error !== null;
  return status === 'failed' || status === 'cancelled';
}
