import { expect, it } from 'vitest';
import type { Session } from '../../../../src/api/sessions.ts';
import { budgetsOf, used } from '../../../support/budgets.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { DAY, HOUR } from '../../../support/queue/queue.ts';
import { type Harness, testHarness, testSession } from '../../../support/sessions/harness.ts';
import { makeTeam } from '../../../support/teams/team.ts';

const START = Date.UTC(2026, 5, 15, 12);

/** Runs a turn of a session that uses so many tokens, and waits for its end. */
async function spend(harness: Harness, session: Session, tokens: number | null, cost?: number) {
  const turn = await harness.startTurn(session);
  const count = harness.seen.filter(({ kind }) => kind === 'turn.completed').length;
  turn.end(used(tokens, cost));
  await harness.times('turn.completed', count + 1);
}

it('Usage is summed by session, and unknown usage is not zero.', async () => {
  const { harness, session: one } = await testSession(undefined, { title: 'one' });
  const other = await harness.open({ title: 'other' });
  await spend(harness, one, 10, 0.25);
  await spend(harness, one, 20);
  await spend(harness, other, null);
  const { rows, total, left_out } = await budgetsOf(harness).usage('?by=session');
  expect(rows).toMatchObject([
    {
      key: one.id,
      name: 'one',
      provider: 'acp',
      turns: 2,
      total_tokens: 30,
      input_tokens: null,
      cost_usd: 0.25,
      turns_without_tokens: 0,
      turns_without_cost: 1,
    },
    { key: other.id, turns: 1, total_tokens: null, cost_usd: null, turns_without_tokens: 1 },
  ]);
  expect(total).toMatchObject({ turns: 3, total_tokens: 30, cost_usd: 0.25 });
  expect(left_out).toBe(0);
  const first = await budgetsOf(harness).usage('?by=session&limit=1');
  expect([first.rows.length, first.left_out, first.total.turns]).toEqual([1, 1, 3]);
});

it('Usage is summed by the teams of a session at the end of each turn, and each turn once in total.', async () => {
  const harness = await testHarness();
  const { team, agents, path } = await makeTeam(harness, 2);
  const [lead, member] = agents;
  await spend(harness, lead, 10);
  if (!member) throw new Error('no member');
  await spend(harness, member, 20);
  await harness.del(`${path}/members/${member.id}`);
  await spend(harness, member, 40);
  const second = await harness.post<{ team: { id: string } }>('/v1/teams', {
    name: 'second',
    lead_agent_id: lead.id,
  });
  await spend(harness, lead, 80);
  const { rows, total } = await budgetsOf(harness).usage('?by=team');
  expect(rows.map(({ key, name, total_tokens }) => [key, name, total_tokens])).toEqual([
    [team.id, 'the team', 110],
    [second.body.team.id, 'second', 80],
    [null, null, 40],
  ]);
  expect(total).toMatchObject({ turns: 4, total_tokens: 150 });
});

it('Usage is summed by the days of a time zone, newest first, for 30 days by default.', async () => {
  const harness = await testHarness({ clock: new ManualClock(START) });
  const session = await harness.open();
  await spend(harness, session, 1);
  harness.clock.advance(DAY);
  await spend(harness, session, 2);
  // 23:00 in London is the next day in Berlin.
  harness.clock.advance(10 * HOUR);
  await spend(harness, session, 4);
  const days = async (query: string) =>
    (await budgetsOf(harness).usage(query)).rows.map((one) => [one.key, one.total_tokens]);
  expect(await days('?time_zone=Europe/London')).toEqual([
    ['2026-06-16', 6],
    ['2026-06-15', 1],
  ]);
  expect(await days('?time_zone=Europe/Berlin')).toEqual([
    ['2026-06-17', 4],
    ['2026-06-16', 2],
    ['2026-06-15', 1],
  ]);
  expect(await days(`?time_zone=UTC&since=${START + DAY}`)).toEqual([['2026-06-16', 6]]);
  expect(await days(`?time_zone=UTC&until=${START + DAY}`)).toEqual([['2026-06-15', 1]]);
  const { since } = await budgetsOf(harness).usage('?time_zone=UTC');
  expect(since).toBe(Date.UTC(2026, 4, 18));
  const { status, body } = await harness.get('/v1/usage?time_zone=Atlantis');
  expect([status, body.code]).toEqual([400, 'invalid']);
});

it('Usage is summed by provider, with the names of its agents.', async () => {
  const harness = await testHarness();
  await spend(harness, await harness.open(), 5);
  const { rows } = await budgetsOf(harness).usage('?by=provider');
  expect(rows).toMatchObject([{ key: 'acp', provider: 'acp', turns: 1, total_tokens: 5 }]);
});

it('Usage is kept after a session is closed.', async () => {
  const { harness, session } = await testSession();
  await spend(harness, session, 5);
  await harness.close(session.id);
  expect((await budgetsOf(harness).usage('?by=session')).rows).toMatchObject([
    { key: session.id, turns: 1, total_tokens: 5 },
  ]);
});
