import { expect, it } from 'vitest';
import type { Session } from '../../../../../src/api/sessions.ts';
import { budgetsOf, used } from '../../../../support/budgets.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { HOUR, queueOf } from '../../../../support/queue/queue.ts';
import {
  type Harness,
  testHarness,
  afterCrash,
  testSession,
} from '../../../../support/sessions/harness.ts';
import { completed, makeTeam } from '../../../../support/teams/team.ts';

/** 2025-06-15 15:06:40 UTC. */
const START = 1_750_000_000_000;

/** Runs a turn of a session that uses so many tokens, and waits for its end. */
async function spend(harness: Harness, session: Session, tokens: number | null, cost?: number) {
  const turn = await harness.startTurn(session);
  turn.end(used(tokens, cost));
  await ended(harness, session);
}

/** Resolves once as many turns of a session have ended as have begun. */
async function ended(harness: Harness, session: Session) {
  const of = (kind: RegExp) =>
    harness.seen.filter((one) => one.session_id === session.id && kind.test(one.kind)).length;
  await harness.until(
    () => of(/^turn\.(completed|failed|interrupted)$/) === of(/^turn\.accepted$/),
  );
}

const kindsOf = (harness: Harness, kind: RegExp) =>
  harness.seen.filter((one) => kind.test(one.kind)).map((one) => one.kind);

it('A used-up budget holds the queue over a SIGKILL until its approval is accepted; then the queue continues.', async () => {
  const [harness, { session, budget, next }] = await afterCrash(async (harness) => {
    const session = await harness.open({ title: 'shop' });
    const { body: budget } = await budgetsOf(harness).set({
      session_id: session.id,
      tokens: 100,
    });
    const turn = await harness.startTurn(session);
    const { body: next } = await queueOf(harness).add(session, 'next');
    turn.end(used(130));
    await harness.until(({ kind }) => kind === 'budget.reached');
    expect(await harness.session(session.id)).toMatchObject({ status: 'ready' });
    return { session, budget, next };
  });
  const [approval, ...others] = await harness.approvals();
  expect(others).toEqual([]);
  expect(approval).toMatchObject({
    kind: 'budget',
    session_id: session.id,
    status: 'pending',
    title: 'continue although the budget of session "shop" is used up?',
  });
  const { holds, entries } = await queueOf(harness).of(session);
  expect(holds).toMatchObject([
    {
      code: 'budget',
      message: 'the budget of session "shop" is used up (130 of 100 tokens)',
      until: null,
    },
  ]);
  expect(entries).toMatchObject([{ id: next.id, status: 'waiting' }]);
  if (!approval) throw new Error('no approval');
  expect(harness.provider.agents).toEqual([]);
  const { status } = await harness.decide(approval, 'accept');
  expect(status).toBe(200);
  const turn = await harness.provider.nextTurn();
  expect(turn.text).toBe('next');
  expect(await budgetsOf(harness).get(budget)).toMatchObject({
    status: 'open',
    limit: { tokens: 100 },
    allowed: { tokens: 230 },
    spent: { tokens: 130, turns: 1 },
    approval_id: null,
  });
  turn.end(used(99));
  await ended(harness, session);
  expect(await budgetsOf(harness).get(budget)).toMatchObject({
    status: 'open',
    spent: { tokens: 229, turns: 2 },
  });
});

it('A turn over a used-up budget is refused, with what to do.', async () => {
  const { harness, session } = await testSession(undefined, { title: 'shop' });
  await budgetsOf(harness).set({ session_id: session.id, turns: 1 });
  await spend(harness, session, 5);
  const { status, body } = await harness.send(session, 'more');
  expect(status).toBe(409);
  expect(body).toMatchObject({
    code: 'budget_reached',
    error:
      'the budget of session "shop" is used up (1 of 1 turn): accept the approval of the budget, set a new limit, or queue the turn',
  });
});

it('A used-up budget does not end a running turn of another session, but a hard budget interrupts it.', async () => {
  const harness = await testHarness();
  const [one, other] = [await harness.open(), await harness.open()];
  for (const hard of [false, true]) {
    await budgetsOf(harness).set({ tokens: hard ? 20 : 10, hard });
    const long = await harness.startTurn(other);
    const short = await harness.startTurn(one);
    short.end(used(10));
    await harness.times('budget.reached', hard ? 2 : 1);
    if (hard) await long.cancelled;
    long.end(hard ? { status: 'interrupted', error: null } : completed);
    await ended(harness, other);
    const turns = (await harness.get<{ status: string }[]>(`/v1/sessions/${other.id}/turns`)).body;
    expect(turns[0]).toMatchObject(
      hard
        ? { status: 'interrupted', error: { code: 'budget_reached' } }
        : { status: 'completed', error: null },
    );
  }
});

it('A turn that uses up a hard budget is interrupted, and the next one is held.', async () => {
  const { harness, session } = await testSession();
  await budgetsOf(harness).set({ session_id: session.id, tokens: 100, hard: true });
  const turn = await harness.startTurn(session);
  await queueOf(harness).add(session, 'next');
  await turn.sink.update({ type: 'usage', usage: { total_tokens: 60 } });
  await turn.sink.update({ type: 'usage', usage: { total_tokens: 101 } });
  await turn.cancelled;
  turn.end({ status: 'interrupted', error: null });
  await harness.until(({ kind }) => kind === 'approval.requested');
  const { last_turn_id } = await harness.session(session.id);
  const { error } = await harness.turn(session.id, last_turn_id ?? '');
  expect(error?.message).toContain('is used up (101 of 100 tokens)');
  expect(kindsOf(harness, /^budget\.reached$/)).toHaveLength(1);
  expect((await queueOf(harness).of(session)).holds).toMatchObject([{ code: 'budget' }]);
  expect((await harness.approvals()).map(({ kind }) => kind)).toEqual(['budget']);
});

it('A team budget that several turns use up at once requests one approval, and counts each turn.', async () => {
  const harness = await testHarness();
  const { team, agents } = await makeTeam(harness, 4);
  const { body: budget } = await budgetsOf(harness).set({ team_id: team.id, tokens: 100 });
  const turns = [];
  for (const agent of agents) turns.push(await harness.startTurn(agent));
  for (const agent of agents) await queueOf(harness).add(agent, 'next');
  for (const turn of turns) turn.end(used(60));
  for (const agent of agents) await ended(harness, agent);
  expect(await budgetsOf(harness).get(budget)).toMatchObject({
    status: 'reached',
    spent: { tokens: 240, turns: 4 },
  });
  expect(await harness.approvals()).toHaveLength(1);
  expect(kindsOf(harness, /^turn\.accepted$/)).toHaveLength(4 + (await heldBack(harness, agents)));
});

it('A budget stays used up when its approval is declined, and asks again when it is set too low; a higher one releases the queue.', async () => {
  const { harness, session } = await testSession();
  const of = { session_id: session.id };
  await budgetsOf(harness).set({ ...of, tokens: 100 });
  await spend(harness, session, 150);
  await queueOf(harness).add(session, 'next');
  const asked = await harness.asked(session.id);
  expect((await harness.decide(asked, 'decline')).body).toMatchObject({ status: 'declined' });
  expect(await budgetsOf(harness).list()).toMatchObject([{ status: 'declined' }]);
  expect((await queueOf(harness).of(session)).holds).toHaveLength(1);
  const { body: low } = await budgetsOf(harness).set({ ...of, tokens: 150 });
  expect(low).toMatchObject({ status: 'reached', allowed: { tokens: 150 } });
  const again = await harness.asked(session.id, 2);
  const { body: high } = await budgetsOf(harness).set({ ...of, tokens: 151 });
  expect(high).toMatchObject({ id: low.id, status: 'open' });
  expect((await harness.provider.nextTurn()).text).toBe('next');
  expect(
    (await harness.approvals('?status=cancelled')).filter(({ id }) => id === again.id),
  ).toMatchObject([{ id: again.id, reason: 'the budget was set again' }]);
  expect((await harness.decide(again, 'accept')).status).toBe(409);
});

it('A budget that is removed releases its sessions and withdraws its approval.', async () => {
  const { harness, session } = await testSession();
  const { body: budget } = await budgetsOf(harness).set({ session_id: session.id, turns: 1 });
  await spend(harness, session, 1);
  await queueOf(harness).add(session, 'next');
  expect((await budgetsOf(harness).remove(budget)).status).toBe(200);
  expect((await harness.provider.nextTurn()).text).toBe('next');
  expect(await harness.approvals('?status=cancelled')).toMatchObject([
    { reason: 'the budget was removed' },
  ]);
  expect(await budgetsOf(harness).list()).toEqual([]);
});

/** How many turns of the sessions began after the first of each: those whose first ended before the budget was used up. */
async function heldBack(harness: Harness, agents: readonly Session[]) {
  let begun = 0;
  for (const agent of agents)
    begun += (await queueOf(harness).of(agent)).entries.filter(
      ({ status }) => status !== 'waiting',
    ).length;
  return begun;
}

it('A daily budget restarts at midnight of its time zone, even if the server was down then.', async () => {
  const [harness, { budget }] = await afterCrash(
    async (harness) => {
      const session = await harness.open();
      const { body: budget } = await budgetsOf(harness).set({
        tokens: 10,
        time_zone: 'America/New_York',
      });
      // Midnight of New York is at 4:00 UTC in summer.
      expect(budget).toMatchObject({
        per: 'day',
        day_begins_at: Date.UTC(2025, 5, 15, 4),
        day_ends_at: Date.UTC(2025, 5, 16, 4),
      });
      await spend(harness, session, 10);
      await queueOf(harness).add(session, 'tomorrow');
      expect((await queueOf(harness).of(session)).holds).toMatchObject([
        { code: 'budget', until: budget.day_ends_at },
      ]);
      return { budget };
    },
    {
      before: { clock: new ManualClock(START) },
      after: { clock: new ManualClock(START + 14 * HOUR) },
    },
  );
  expect((await harness.provider.nextTurn()).text).toBe('tomorrow');
  expect(await budgetsOf(harness).get(budget)).toMatchObject({
    status: 'open',
    spent: { tokens: 0, turns: 0 },
    day_begins_at: Date.UTC(2025, 5, 16, 4),
  });
  expect(await harness.approvals('?status=cancelled')).toMatchObject([
    { reason: 'a new day of the budget has started' },
  ]);
});

it('A daily budget releases its sessions at midnight, when an acceptance also ends.', async () => {
  const harness = await testHarness({ clock: new ManualClock(START) });
  const session = await harness.open();
  const { body: budget } = await budgetsOf(harness).set({ turns: 1, time_zone: 'UTC' });
  await spend(harness, session, 1);
  await harness.decide(await harness.asked(session.id), 'accept');
  expect(await budgetsOf(harness).get(budget)).toMatchObject({ allowed: { turns: 2 } });
  await spend(harness, session, 1);
  await queueOf(harness).add(session, 'tomorrow');
  for (let hours = 0; hours < 9; hours++) harness.clock.advance(HOUR);
  expect((await harness.provider.nextTurn()).text).toBe('tomorrow');
  expect(await budgetsOf(harness).get(budget)).toMatchObject({
    status: 'open',
    allowed: { turns: 1 },
    spent: { turns: 0 },
  });
});

it('A budget counts all turns of its session, including earlier ones.', async () => {
  const harness = await testHarness();
  const [session, other] = [await harness.open(), await harness.open()];
  await spend(harness, session, 40, 0.5);
  await spend(harness, other, 7);
  const { body } = await budgetsOf(harness).set({ session_id: session.id, cost_usd: 0.4 });
  expect(body).toMatchObject({ status: 'reached', spent: { tokens: 40, turns: 1 } });
  expect(body.spent.cost_usd).toBeCloseTo(0.5);
  expect(await harness.approvals()).toHaveLength(1);
});

it('A budget reports once that an agent reports no cost, and does not count that as zero.', async () => {
  const { harness, session } = await testSession(undefined, { title: 'shop' });
  const { body: budget } = await budgetsOf(harness).set({ session_id: session.id, cost_usd: 1 });
  for (const tokens of [5, 6]) await spend(harness, session, tokens);
  const payloads = harness.seen.flatMap((event) =>
    event.kind === 'session.notice' ? [event.payload] : [],
  );
  expect(payloads.filter(({ code }) => code !== 'turn_without_items')).toEqual([
    {
      code: 'budget_uncounted',
      message:
        'the agent reported no cost: the budget of session "shop" does not count unreported usage',
    },
  ]);
  expect((await budgetsOf(harness).get(budget)).spent).toMatchObject({
    cost_usd: 0,
    turns: 2,
    turns_without_cost: 2,
  });
});

it('A budget counts usage after the end of a turn once, and can be used up by it.', async () => {
  const { harness, session } = await testSession();
  const { body: budget } = await budgetsOf(harness).set({ session_id: session.id, tokens: 100 });
  const turn = await harness.startTurn(session);
  turn.end(used(60));
  await ended(harness, session);
  await turn.sink.update({ type: 'usage', usage: { total_tokens: 90 } });
  await turn.sink.update({ type: 'usage', usage: { total_tokens: 120 } });
  await harness.until(({ kind }) => kind === 'budget.reached');
  expect((await budgetsOf(harness).get(budget)).spent).toMatchObject({ tokens: 120, turns: 1 });
  const { total } = await budgetsOf(harness).usage();
  expect(total).toMatchObject({ total_tokens: 120, turns: 1 });
});

it("A budget counts the stored usage of a killed server's turn once.", async () => {
  const [harness, { session, budget }] = await afterCrash(async (harness) => {
    const session = await harness.open();
    const { body: budget } = await budgetsOf(harness).set({
      session_id: session.id,
      tokens: 100,
    });
    const turn = await harness.startTurn(session);
    await turn.sink.update({ type: 'usage', usage: { total_tokens: 50 } });
    await turn.sink.update({ type: 'usage', usage: { total_tokens: 110 } });
    await harness.times('usage.updated', 2);
    return { session, budget };
  });
  expect(await budgetsOf(harness).get(budget)).toMatchObject({
    status: 'reached',
    spent: { tokens: 110, turns: 1 },
  });
  expect(await harness.approvals()).toMatchObject([{ kind: 'budget', session_id: session.id }]);
  expect((await harness.session(session.id)).usage).toMatchObject({ total_tokens: 110 });
  expect((await budgetsOf(harness).usage('?by=session')).rows).toMatchObject([
    { key: session.id, turns: 1, total_tokens: 110 },
  ]);
});

it('A budget does not count a turn that got no agent.', async () => {
  const { harness, session } = await testSession();
  const { body: budget } = await budgetsOf(harness).set({ session_id: session.id, turns: 1 });
  harness.provider.refuseOpen(new Error('not installed'));
  await harness.send(session, 'in vain');
  await harness.until(({ kind }) => kind === 'turn.failed');
  expect((await budgetsOf(harness).get(budget)).spent.turns).toBe(0);
});

it('The budget of a closed session is removed with its approval.', async () => {
  const { harness, session } = await testSession();
  await budgetsOf(harness).set({ session_id: session.id, turns: 1 });
  await spend(harness, session, 1);
  await harness.close(session.id);
  expect(await budgetsOf(harness).list()).toEqual([]);
  expect(await harness.approvals()).toEqual([]);
  const { status, body } = await budgetsOf(harness).set({ session_id: session.id, turns: 1 });
  expect([status, body.code]).toEqual([409, 'session_closed']);
});

it('A session that leaves a team is released, its turns stay counted, and a deleted team releases all.', async () => {
  const harness = await testHarness();
  const { team, agents, path } = await makeTeam(harness, 3);
  const [lead, second, third] = agents;
  const { body: budget } = await budgetsOf(harness).set({ team_id: team.id, turns: 1 });
  await spend(harness, lead, 10);
  for (const agent of [second, third]) if (agent) await queueOf(harness).add(agent, 'next');
  await harness.del(`${path}/members/${second?.id}`);
  const free = await harness.provider.nextTurn();
  expect(free.agent.session.id).toBe(second?.id);
  free.end(used(5));
  if (second) await ended(harness, second);
  expect((await budgetsOf(harness).get(budget)).spent).toMatchObject({ tokens: 10, turns: 1 });
  await harness.del(path);
  expect((await harness.provider.nextTurn()).agent.session.id).toBe(third?.id);
  expect(await budgetsOf(harness).list()).toEqual([]);
  expect(await harness.approvals('?status=cancelled')).toMatchObject([
    { reason: 'the team was deleted' },
  ]);
});
