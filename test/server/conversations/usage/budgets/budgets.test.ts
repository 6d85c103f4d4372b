import { expect, it } from 'vitest';
import type { Session } from '../../../../../src/api/sessions.ts';
import { budgetsOf, used } from '../../../../support/budgets.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { HOUR, queueOf } from '../../../../support/queue/queue.ts';
import {
  type Stage,
  testStage,
  afterCrash,
  testSession,
} from '../../../../support/sessions/harness.ts';
import { completed, makeTeam } from '../../../../support/teams/team.ts';

/** 2025-06-15 15:06:40 UTC. */
const START = 1_750_000_000_000;

/** Plays a turn of a session that uses so many tokens, and waits for its end. */
async function spend(stage: Stage, session: Session, tokens: number | null, cost?: number) {
  const turn = await stage.play(session);
  turn.end(used(tokens, cost));
  await ended(stage, session);
}

/** Resolves once as many turns of a session have ended as have begun. */
async function ended(stage: Stage, session: Session) {
  const of = (kind: RegExp) =>
    stage.seen.filter((one) => one.session_id === session.id && kind.test(one.kind)).length;
  await stage.until(() => of(/^turn\.(completed|failed|interrupted)$/) === of(/^turn\.accepted$/));
}

const kindsOf = (stage: Stage, kind: RegExp) =>
  stage.seen.filter((one) => kind.test(one.kind)).map((one) => one.kind);

it('A used-up budget holds the queue over a SIGKILL until its approval is accepted; then the queue continues.', async () => {
  const [stage, { session, budget, next }] = await afterCrash(async (stage) => {
    const session = await stage.open({ title: 'shop' });
    const { body: budget } = await budgetsOf(stage).set({
      session_id: session.id,
      tokens: 100,
    });
    const turn = await stage.play(session);
    const { body: next } = await queueOf(stage).add(session, 'next');
    turn.end(used(130));
    await stage.until(({ kind }) => kind === 'budget.reached');
    expect(await stage.session(session.id)).toMatchObject({ status: 'ready' });
    return { session, budget, next };
  });
  const [approval, ...others] = await stage.approvals();
  expect(others).toEqual([]);
  expect(approval).toMatchObject({
    kind: 'budget',
    session_id: session.id,
    status: 'pending',
    title: 'continue although the budget of session "shop" is used up?',
  });
  const { holds, entries } = await queueOf(stage).of(session);
  expect(holds).toMatchObject([
    {
      code: 'budget',
      message: 'the budget of session "shop" is used up (130 of 100 tokens)',
      until: null,
    },
  ]);
  expect(entries).toMatchObject([{ id: next.id, status: 'waiting' }]);
  if (!approval) throw new Error('no approval');
  expect(stage.provider.agents).toEqual([]);
  const { status } = await stage.decide(approval, 'accept');
  expect(status).toBe(200);
  const turn = await stage.provider.nextTurn();
  expect(turn.text).toBe('next');
  expect(await budgetsOf(stage).get(budget)).toMatchObject({
    status: 'open',
    limit: { tokens: 100 },
    allowed: { tokens: 230 },
    spent: { tokens: 130, turns: 1 },
    approval_id: null,
  });
  turn.end(used(99));
  await ended(stage, session);
  expect(await budgetsOf(stage).get(budget)).toMatchObject({
    status: 'open',
    spent: { tokens: 229, turns: 2 },
  });
});

it('A turn over a used-up budget is refused, with what to do.', async () => {
  const { stage, session } = await testSession(undefined, { title: 'shop' });
  await budgetsOf(stage).set({ session_id: session.id, turns: 1 });
  await spend(stage, session, 5);
  const { status, body } = await stage.send(session, 'more');
  expect(status).toBe(409);
  expect(body).toMatchObject({
    code: 'budget_reached',
    error:
      'the budget of session "shop" is used up (1 of 1 turn): accept the approval of the budget, set a new limit, or queue the turn',
  });
});

it('A used-up budget does not end a running turn of another session, but a hard budget interrupts it.', async () => {
  const stage = await testStage();
  const [one, other] = [await stage.open(), await stage.open()];
  for (const hard of [false, true]) {
    await budgetsOf(stage).set({ tokens: hard ? 20 : 10, hard });
    const long = await stage.play(other);
    const short = await stage.play(one);
    short.end(used(10));
    await stage.times('budget.reached', hard ? 2 : 1);
    if (hard) await long.cancelled;
    long.end(hard ? { status: 'interrupted', error: null } : completed);
    await ended(stage, other);
    const turns = (await stage.get<{ status: string }[]>(`/v1/sessions/${other.id}/turns`)).body;
    expect(turns[0]).toMatchObject(
      hard
        ? { status: 'interrupted', error: { code: 'budget_reached' } }
        : { status: 'completed', error: null },
    );
  }
});

it('A turn that uses up a hard budget is interrupted, and the next one is held.', async () => {
  const { stage, session } = await testSession();
  await budgetsOf(stage).set({ session_id: session.id, tokens: 100, hard: true });
  const turn = await stage.play(session);
  await queueOf(stage).add(session, 'next');
  await turn.sink.update({ type: 'usage', usage: { total_tokens: 60 } });
  await turn.sink.update({ type: 'usage', usage: { total_tokens: 101 } });
  await turn.cancelled;
  turn.end({ status: 'interrupted', error: null });
  await stage.until(({ kind }) => kind === 'approval.requested');
  const { last_turn_id } = await stage.session(session.id);
  const { error } = await stage.turn(session.id, last_turn_id ?? '');
  expect(error?.message).toContain('is used up (101 of 100 tokens)');
  expect(kindsOf(stage, /^budget\.reached$/)).toHaveLength(1);
  expect((await queueOf(stage).of(session)).holds).toMatchObject([{ code: 'budget' }]);
  expect((await stage.approvals()).map(({ kind }) => kind)).toEqual(['budget']);
});

it('A team budget that several turns use up at once requests one approval, and counts each turn.', async () => {
  const stage = await testStage();
  const { team, agents } = await makeTeam(stage, 4);
  const { body: budget } = await budgetsOf(stage).set({ team_id: team.id, tokens: 100 });
  const turns = [];
  for (const agent of agents) turns.push(await stage.play(agent));
  for (const agent of agents) await queueOf(stage).add(agent, 'next');
  for (const turn of turns) turn.end(used(60));
  for (const agent of agents) await ended(stage, agent);
  expect(await budgetsOf(stage).get(budget)).toMatchObject({
    status: 'reached',
    spent: { tokens: 240, turns: 4 },
  });
  expect(await stage.approvals()).toHaveLength(1);
  expect(kindsOf(stage, /^turn\.accepted$/)).toHaveLength(4 + (await heldBack(stage, agents)));
});

it('A budget stays used up when its approval is declined, and asks again when it is set too low; a higher one releases the queue.', async () => {
  const { stage, session } = await testSession();
  const of = { session_id: session.id };
  await budgetsOf(stage).set({ ...of, tokens: 100 });
  await spend(stage, session, 150);
  await queueOf(stage).add(session, 'next');
  const asked = await stage.asked(session.id);
  expect((await stage.decide(asked, 'decline')).body).toMatchObject({ status: 'declined' });
  expect(await budgetsOf(stage).list()).toMatchObject([{ status: 'declined' }]);
  expect((await queueOf(stage).of(session)).holds).toHaveLength(1);
  const { body: low } = await budgetsOf(stage).set({ ...of, tokens: 150 });
  expect(low).toMatchObject({ status: 'reached', allowed: { tokens: 150 } });
  const again = await stage.asked(session.id, 2);
  const { body: high } = await budgetsOf(stage).set({ ...of, tokens: 151 });
  expect(high).toMatchObject({ id: low.id, status: 'open' });
  expect((await stage.provider.nextTurn()).text).toBe('next');
  expect(
    (await stage.approvals('?status=cancelled')).filter(({ id }) => id === again.id),
  ).toMatchObject([{ id: again.id, reason: 'the budget was set again' }]);
  expect((await stage.decide(again, 'accept')).status).toBe(409);
});

it('A budget that is removed releases its sessions and withdraws its approval.', async () => {
  const { stage, session } = await testSession();
  const { body: budget } = await budgetsOf(stage).set({ session_id: session.id, turns: 1 });
  await spend(stage, session, 1);
  await queueOf(stage).add(session, 'next');
  expect((await budgetsOf(stage).remove(budget)).status).toBe(200);
  expect((await stage.provider.nextTurn()).text).toBe('next');
  expect(await stage.approvals('?status=cancelled')).toMatchObject([
    { reason: 'the budget was removed' },
  ]);
  expect(await budgetsOf(stage).list()).toEqual([]);
});

/** How many turns of the sessions began after the first of each: those whose first ended before the budget was used up. */
async function heldBack(stage: Stage, agents: readonly Session[]) {
  let begun = 0;
  for (const agent of agents)
    begun += (await queueOf(stage).of(agent)).entries.filter(
      ({ status }) => status !== 'waiting',
    ).length;
  return begun;
}

it('A daily budget restarts at midnight of its time zone, even if the server was down then.', async () => {
  const [stage, { budget }] = await afterCrash(
    async (stage) => {
      const session = await stage.open();
      const { body: budget } = await budgetsOf(stage).set({
        tokens: 10,
        time_zone: 'America/New_York',
      });
      // Midnight of New York is at 4:00 UTC in summer.
      expect(budget).toMatchObject({
        per: 'day',
        day_begins_at: Date.UTC(2025, 5, 15, 4),
        day_ends_at: Date.UTC(2025, 5, 16, 4),
      });
      await spend(stage, session, 10);
      await queueOf(stage).add(session, 'tomorrow');
      expect((await queueOf(stage).of(session)).holds).toMatchObject([
        { code: 'budget', until: budget.day_ends_at },
      ]);
      return { budget };
    },
    {
      before: { clock: new ManualClock(START) },
      after: { clock: new ManualClock(START + 14 * HOUR) },
    },
  );
  expect((await stage.provider.nextTurn()).text).toBe('tomorrow');
  expect(await budgetsOf(stage).get(budget)).toMatchObject({
    status: 'open',
    spent: { tokens: 0, turns: 0 },
    day_begins_at: Date.UTC(2025, 5, 16, 4),
  });
  expect(await stage.approvals('?status=cancelled')).toMatchObject([
    { reason: 'a new day of the budget has started' },
  ]);
});

it('A daily budget releases its sessions at midnight, when an acceptance also ends.', async () => {
  const stage = await testStage({ clock: new ManualClock(START) });
  const session = await stage.open();
  const { body: budget } = await budgetsOf(stage).set({ turns: 1, time_zone: 'UTC' });
  await spend(stage, session, 1);
  await stage.decide(await stage.asked(session.id), 'accept');
  expect(await budgetsOf(stage).get(budget)).toMatchObject({ allowed: { turns: 2 } });
  await spend(stage, session, 1);
  await queueOf(stage).add(session, 'tomorrow');
  for (let hours = 0; hours < 9; hours++) stage.clock.advance(HOUR);
  expect((await stage.provider.nextTurn()).text).toBe('tomorrow');
  expect(await budgetsOf(stage).get(budget)).toMatchObject({
    status: 'open',
    allowed: { turns: 1 },
    spent: { turns: 0 },
  });
});

it('A budget counts all turns of its session, including earlier ones.', async () => {
  const stage = await testStage();
  const [session, other] = [await stage.open(), await stage.open()];
  await spend(stage, session, 40, 0.5);
  await spend(stage, other, 7);
  const { body } = await budgetsOf(stage).set({ session_id: session.id, cost_usd: 0.4 });
  expect(body).toMatchObject({ status: 'reached', spent: { tokens: 40, turns: 1 } });
  expect(body.spent.cost_usd).toBeCloseTo(0.5);
  expect(await stage.approvals()).toHaveLength(1);
});

it('A budget reports once that an agent reports no cost, and does not count that as zero.', async () => {
  const { stage, session } = await testSession(undefined, { title: 'shop' });
  const { body: budget } = await budgetsOf(stage).set({ session_id: session.id, cost_usd: 1 });
  for (const tokens of [5, 6]) await spend(stage, session, tokens);
  const payloads = stage.seen.flatMap((event) =>
    event.kind === 'session.notice' ? [event.payload] : [],
  );
  expect(payloads.filter(({ code }) => code !== 'turn_without_items')).toEqual([
    {
      code: 'budget_uncounted',
      message:
        'the agent reported no cost: the budget of session "shop" does not count unreported usage',
    },
  ]);
  expect((await budgetsOf(stage).get(budget)).spent).toMatchObject({
    cost_usd: 0,
    turns: 2,
    turns_without_cost: 2,
  });
});

it('A budget counts usage after the end of a turn once, and can be used up by it.', async () => {
  const { stage, session } = await testSession();
  const { body: budget } = await budgetsOf(stage).set({ session_id: session.id, tokens: 100 });
  const turn = await stage.play(session);
  turn.end(used(60));
  await ended(stage, session);
  await turn.sink.update({ type: 'usage', usage: { total_tokens: 90 } });
  await turn.sink.update({ type: 'usage', usage: { total_tokens: 120 } });
  await stage.until(({ kind }) => kind === 'budget.reached');
  expect((await budgetsOf(stage).get(budget)).spent).toMatchObject({ tokens: 120, turns: 1 });
  const { total } = await budgetsOf(stage).usage();
  expect(total).toMatchObject({ total_tokens: 120, turns: 1 });
});

it("A budget counts the stored usage of a killed server's turn once.", async () => {
  const [stage, { session, budget }] = await afterCrash(async (stage) => {
    const session = await stage.open();
    const { body: budget } = await budgetsOf(stage).set({
      session_id: session.id,
      tokens: 100,
    });
    const turn = await stage.play(session);
    await turn.sink.update({ type: 'usage', usage: { total_tokens: 50 } });
    await turn.sink.update({ type: 'usage', usage: { total_tokens: 110 } });
    await stage.times('usage.updated', 2);
    return { session, budget };
  });
  expect(await budgetsOf(stage).get(budget)).toMatchObject({
    status: 'reached',
    spent: { tokens: 110, turns: 1 },
  });
  expect(await stage.approvals()).toMatchObject([{ kind: 'budget', session_id: session.id }]);
  expect((await stage.session(session.id)).usage).toMatchObject({ total_tokens: 110 });
  expect((await budgetsOf(stage).usage('?by=session')).rows).toMatchObject([
    { key: session.id, turns: 1, total_tokens: 110 },
  ]);
});

it('A budget does not count a turn that got no agent.', async () => {
  const { stage, session } = await testSession();
  const { body: budget } = await budgetsOf(stage).set({ session_id: session.id, turns: 1 });
  stage.provider.refuseOpen(new Error('not installed'));
  await stage.send(session, 'in vain');
  await stage.until(({ kind }) => kind === 'turn.failed');
  expect((await budgetsOf(stage).get(budget)).spent.turns).toBe(0);
});

it('The budget of a closed session is removed with its approval.', async () => {
  const { stage, session } = await testSession();
  await budgetsOf(stage).set({ session_id: session.id, turns: 1 });
  await spend(stage, session, 1);
  await stage.close(session.id);
  expect(await budgetsOf(stage).list()).toEqual([]);
  expect(await stage.approvals()).toEqual([]);
  const { status, body } = await budgetsOf(stage).set({ session_id: session.id, turns: 1 });
  expect([status, body.code]).toEqual([409, 'session_closed']);
});

it('A session that leaves a team is released, its turns stay counted, and a deleted team releases all.', async () => {
  const stage = await testStage();
  const { team, agents, path } = await makeTeam(stage, 3);
  const [lead, second, third] = agents;
  const { body: budget } = await budgetsOf(stage).set({ team_id: team.id, turns: 1 });
  await spend(stage, lead, 10);
  for (const agent of [second, third]) if (agent) await queueOf(stage).add(agent, 'next');
  await stage.del(`${path}/members/${second?.id}`);
  const free = await stage.provider.nextTurn();
  expect(free.agent.session.id).toBe(second?.id);
  free.end(used(5));
  if (second) await ended(stage, second);
  expect((await budgetsOf(stage).get(budget)).spent).toMatchObject({ tokens: 10, turns: 1 });
  await stage.del(path);
  expect((await stage.provider.nextTurn()).agent.session.id).toBe(third?.id);
  expect(await budgetsOf(stage).list()).toEqual([]);
  expect(await stage.approvals('?status=cancelled')).toMatchObject([
    { reason: 'the team was deleted' },
  ]);
});
