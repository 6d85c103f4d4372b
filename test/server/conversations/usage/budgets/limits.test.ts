import { expect, it } from 'vitest';
import type { QueueEntry } from '../../../../../src/api/queue.ts';
import type { Session } from '../../../../../src/api/sessions.ts';
import { waitText } from '../../../../../src/frontends/cli/limit-text.ts';
import { entryStateText } from '../../../../../src/frontends/cli/queue-text.ts';
import { limited } from '../../../../../src/agents/provider.ts';
import { budgetsOf, used } from '../../../../support/budgets.ts';
import { DAY, HOUR, queueOf } from '../../../../support/queue/queue.ts';
import { type Harness, afterCrash } from '../../../../support/sessions/harness.ts';
import { completed } from '../../../../support/teams/team.ts';

/** A turn meets a usage limit of an hour, and with it the session has used up its budget of one turn. */
async function meetBoth(harness: Harness) {
  const session = await harness.open({ title: 'shop' });
  await budgetsOf(harness).set({ session_id: session.id, turns: 1 });
  const turn = await harness.startTurn(session, 'work');
  const resetsAt = harness.clock.now() + HOUR;
  turn.end(limited('the agent', 'no more', { resetsAt, isOfAccount: true }));
  await harness.until(({ kind }) => kind === 'session.limited');
  await queueOf(harness).add(session, 'later');
  return session;
}

async function holdsOf(harness: Harness, session: Session): Promise<string[]> {
  return (await queueOf(harness).of(session)).holds.map(({ code }) => code);
}

async function accept(harness: Harness): Promise<void> {
  const [approval] = await harness.approvals('?status=pending');
  if (!approval) throw new Error('no approval');
  expect((await harness.decide(approval, 'accept')).status).toBe(200);
}

/** Expects that the interrupted work continues in one turn, and that the turn uses up the accepted budget. */
async function goesOn(harness: Harness, session: Session): Promise<void> {
  const again = await harness.provider.nextTurn();
  expect([again.agent.session.id, again.text]).toEqual([session.id, 'work']);
  again.end(completed);
  await harness.until(({ kind }) => kind === 'turn.completed');
  expect(await holdsOf(harness, session)).toEqual(['budget']);
  harness.clock.advance(DAY);
  const accepted = (await harness.events(session.id)).filter(
    ({ kind }) => kind === 'turn.accepted',
  );
  expect(accepted).toHaveLength(2);
}

it('A session with the holds of a limit and a budget continues after both: the budget was accepted, the server was killed, the limit resets.', async () => {
  const [harness, session] = await afterCrash(async (harness) => {
    const session = await meetBoth(harness);
    expect(await holdsOf(harness, session)).toEqual(['usage_limit', 'budget']);
    await accept(harness);
    expect(await holdsOf(harness, session)).toEqual(['usage_limit']);
    return session;
  });
  harness.clock.advance(HOUR);
  await goesOn(harness, session);
});

it('A session with the holds of a limit and a budget continues after both: the limit has reset, the server was killed, the budget is accepted.', async () => {
  const [harness, session] = await afterCrash(async (harness) => {
    const session = await meetBoth(harness);
    const { status, body } = await harness.send(session, 'now');
    expect([status, body.code]).toEqual([409, 'budget_reached']);
    harness.clock.advance(HOUR);
    await harness.until(({ kind }) => kind === 'session.limit_ended');
    expect(await holdsOf(harness, session)).toEqual(['budget']);
    return session;
  });
  expect((await queueOf(harness).resumeAll(session)).body.holds).toMatchObject([
    { code: 'budget' },
  ]);
  await accept(harness);
  await goesOn(harness, session);
});

it('A hard budget ends a turn that has waited for an approval over a restart, and takes that approval back.', async () => {
  const [harness, { asks, spends }] = await afterCrash(async (harness) => {
    const [asks, spends] = [await harness.open(), await harness.open()];
    await budgetsOf(harness).set({ turns: 1, hard: true });
    void (await harness.startTurn(asks)).ask();
    await harness.asked(asks.id);
    return { asks, spends };
  });
  (await harness.startTurn(spends)).end(used(1));
  await harness.until(({ kind }) => kind === 'turn.interrupted');
  const { last_turn_id } = await harness.session(asks.id);
  expect(await harness.turn(asks.id, last_turn_id ?? '')).toMatchObject({
    status: 'interrupted',
    error: { code: 'budget_reached' },
  });
  expect(await harness.approvals()).toMatchObject([{ kind: 'budget', session_id: spends.id }]);
  const [budget] = await budgetsOf(harness).list();
  expect(budget).toMatchObject({ status: 'reached', spent: { turns: 2 } });
});

it('All holds of a session are listed: while a budget is used up, the reset of a limit releases nothing.', () => {
  const holds = ['no more', 'the budget is used up'].map((message) => ({ message }));
  const entry = { id: 'que_1', status: 'waiting', position: 1, session_holds: holds };
  expect(entryStateText(entry as unknown as QueueEntry, 0)).toBe(
    'Queue entry que_1 is waiting for the session at position 1: no more; the budget is used up\n',
  );
  const limit = { message: 'no more', since: 0, resets_at: HOUR, resumes_at: HOUR, turn_id: null };
  const wait = { ...limit, waits_because: null };
  expect(waitText(wait, 0)).toMatch(/^the session resumes by itself at .*, in 1h$/);
  expect(waitText(wait, 0, ['the budget is used up'])).toMatch(
    /^the session resumes at .*, in 1h, unless something else still holds it: the budget is used up$/,
  );
});
