import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Delivery, Message } from '../../../src/api/team-messages.ts';
import type { TeamWithMembers } from '../../../src/api/teams.ts';
import { ProviderError } from '../../../src/agents/provider.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import type { ScriptedTurn } from '../../support/scripted-provider.ts';
import { killed, withHarness, type Refusal, type Harness } from '../../support/sessions/harness.ts';
import {
  teamHarnessOf,
  completed,
  failed,
  interrupted,
  makeTeam,
  messageIdsIn,
} from '../../support/teams/team.ts';
import { scaled } from '../../support/patience.ts';
import { atLength } from '../../support/at-length.ts';

const MEMBERS = 3;
const who = fc.integer({ min: 0, max: MEMBERS - 1 });
const act = <T extends object>(weight: number, name: string, more: T = {} as T) => ({
  weight,
  arbitrary: fc.record({ act: fc.constant(name), who, which: fc.nat(), ...more }),
});
const step = fc.oneof(
  act(6, 'send', {
    to: who,
    priority: fc.constantFrom('high', 'normal', 'low'),
    policy: fc.constantFrom(
      'non_interrupting',
      'non_interrupting',
      'start_new_turn_only',
      'interrupt_after_tool_boundary',
      'immediate_interrupt',
    ),
  }),
  act(1, 'broadcast'),
  act(6, 'end', { outcome: fc.constantFrom(completed, completed, failed, interrupted) }),
  act(2, 'speak'),
  act(1, 'interrupt'),
  act(1, 'refuse'),
  act(1, 'wait'),
  act(1, 'retry'),
  act(1, 'cancel'),
  act(1, 'close'),
  act(1, 'die'),
);
type Step = {
  act: string;
  who: number;
  which: number;
  to?: number;
  priority?: string;
  policy?: string;
  outcome?: typeof completed;
};

/** The turns of all agents over all runs of the server, and the deliveries that were retried. */
class TurnRecord {
  readonly turns: ScriptedTurn[] = [];
  readonly retried = new Set<string>();
  open: ScriptedTurn[] = [];
  /** Whether the server was killed. Turns that a killed server still starts in this process do not count. */
  isDead = false;

  readonly note = (turn: ScriptedTurn) => {
    if (this.isDead) return;
    this.turns.push(turn);
    this.open.push(turn);
  };

  /** The turn that an agent is at. */
  take(sessionId: string): ScriptedTurn | undefined {
    const turn = this.open.findLast(({ session }) => session.id === sessionId);
    this.open = this.open.filter((one) => one !== turn);
    return turn;
  }
}

type Made = { team: TeamWithMembers; agents: Awaited<ReturnType<typeof makeTeam>>['agents'] };

async function take(
  harness: Harness,
  { team, agents }: Made,
  record: TurnRecord,
  one: Step,
): Promise<void> {
  const teamHarness = teamHarnessOf(harness, team, agents);
  const id = agents[one.who]?.id ?? '';
  const deliveries = async () =>
    (await harness.get<Delivery[]>(`${teamHarness.path}/deliveries?limit=500`)).body;
  switch (one.act) {
    case 'send':
      await teamHarness.say('x', {
        sender_agent_id: id,
        recipient_agent_id: agents[one.to ?? 0]?.id,
        priority: one.priority,
        policy: one.policy,
      });
      return;
    case 'broadcast':
      await teamHarness.broadcast('x', { sender_agent_id: id });
      return;
    case 'end':
      record.take(id)?.end(one.outcome ?? completed);
      return;
    case 'speak':
      await harness.send({ id }, 'go on');
      return;
    case 'interrupt':
      await harness.interrupt(id, (await harness.session(id)).active_turn_id ?? 'turn_none');
      return;
    case 'refuse':
      harness.provider.refuseOpen(new ProviderError('provider_unavailable', 'not just now'));
      return;
    case 'wait':
      harness.clock.advance(1000);
      return;
    case 'retry': {
      const all = await deliveries();
      const chosen = all[one.which % all.length];
      if (chosen && (await teamHarness.retry(chosen)).status === 200) record.retried.add(chosen.id);
      return;
    }
    case 'cancel': {
      const all = await deliveries();
      const chosen = all[one.which % all.length];
      if (chosen) await teamHarness.cancel({ id: chosen.message_id });
      return;
    }
    case 'close':
      // Rarely: a team of closed sessions says nothing.
      if (one.which % 4 === 0) await harness.close(id);
      return;
  }
}

/** Lets everything come to its end: each agent ends its turns, and each session is spoken to. */
async function settle(harness: Harness, { team, agents }: Made, record: TurnRecord): Promise<void> {
  const teamHarness = teamHarnessOf(harness, team, agents);
  for (let round = 0; round < 200; round++) {
    for (const turn of record.open.splice(0)) turn.end(completed);
    const { members } = await teamHarness.view('?message_limit=0');
    const atWork = members.filter(({ state }) => state === 'working');
    const waited = members.filter(({ pending_deliveries: left }) => left > 0);
    if (atWork.length === 0 && waited.length === 0) return;
    for (const { agent_id, state } of waited)
      if (state === 'idle') await harness.send({ id: agent_id }, 'go on');
    harness.clock.advance(1000);
  }
  throw new Error('some messages wait for ever');
}

const ranks = ['high', 'normal', 'low'];

async function checkDeliveries(
  harness: Harness,
  { team }: Made,
  record: TurnRecord,
): Promise<void> {
  const path = `/v1/teams/${team.team.id}`;
  const list = async <T>(what: string) =>
    (await harness.get<T[] & Refusal>(`${path}/${what}?limit=500`)).body.toReversed();
  const messages = await list<Message>('messages');
  const arrival = new Map(messages.map(({ id }, i) => [id, i]));
  const rank = new Map(messages.map(({ id, priority }) => [id, ranks.indexOf(priority)]));
  const received = record.turns.map(({ session, text }) => ({
    id: session.id,
    ids: messageIdsIn(text),
  }));

  for (const delivery of await list<Delivery>('deliveries')) {
    const { message_id, recipient_agent_id: id, status, consumed_at } = delivery;
    const times = received.filter((turn) => turn.id === id && turn.ids.includes(message_id)).length;
    expect(['injected', 'failed', 'cancelled']).toContain(status);
    if (record.retried.has(delivery.id)) continue;
    expect(times).toBeLessThanOrEqual(1);
    if (consumed_at !== null) expect(times).toBe(1);
    if (status !== 'injected') expect(times).toBe(0);
    else expect(delivery.error === null).toBe(consumed_at !== null);
  }

  const retried = new Set(
    (await list<Delivery>('deliveries'))
      .filter(({ id }) => record.retried.has(id))
      .map(({ message_id }) => message_id),
  );
  const firsts = (ids: string[]) => ids.filter((id) => !retried.has(id));
  const place = (id: string) => [rank.get(id) ?? 0, arrival.get(id) ?? 0] as const;
  for (const { ids } of received) {
    const ordered = firsts(ids).toSorted((a, b) => {
      const [[rankA, atA], [rankB, atB]] = [place(a), place(b)];
      return rankA - rankB || atA - atB;
    });
    expect(firsts(ids)).toEqual(ordered);
  }
  // No agent receives a later message of the same priority before an earlier one.
  for (const agent of new Set(received.map(({ id }) => id)))
    for (const priority of [0, 1, 2]) {
      const all = received.filter(({ id }) => id === agent).flatMap(({ ids }) => firsts(ids));
      const places = all.filter((id) => rank.get(id) === priority).map((id) => arrival.get(id));
      expect(places).toEqual(places.toSorted((a = 0, b = 0) => a - b));
    }
}

it(
  'Each message comes to one end, once and in order, whatever is sent, interrupted, closed and killed.',
  { timeout: scaled(120_000) },
  () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const record = new TurnRecord();
        const options = { agents: { onTurn: record.note } };
        await using runs = new AsyncDisposableStack();
        const parts = splitAtDeaths(steps);
        let made: Made | undefined;
        let left: { directory: string; at: number } | undefined;
        for (const [i, part] of parts.entries()) {
          const live = async (harness: Harness) => {
            if (!made) {
              const { team, members, agents } = await makeTeam(harness, MEMBERS);
              made = { team: { team, members }, agents };
            }
            for (const one of part) await take(harness, made, record, one);
            record.isDead = i < parts.length - 1;
          };
          const here = left
            ? { ...options, directory: left.directory, clock: new ManualClock(left.at) }
            : options;
          if (i < parts.length - 1) {
            left = runs.use(await killed(live, here));
            record.open = [];
            record.isDead = false;
          } else
            await withHarness(async (harness) => {
              await live(harness);
              await settle(harness, made as Made, record);
              await checkDeliveries(harness, made as Made, record);
            }, here);
        }
      }),
      { numRuns: atLength(5, 25), interruptAfterTimeLimit: 90_000 },
    ),
);

/** The steps between the deaths of the server. */
function splitAtDeaths(steps: readonly Step[]): Step[][] {
  const runs: Step[][] = [[]];
  for (const one of steps) {
    if (one.act === 'die' && runs.length < 4) runs.push([]);
    else runs.at(-1)?.push(one);
  }
  return runs;
}
