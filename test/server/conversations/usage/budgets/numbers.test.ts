import { expect, it } from 'vitest';
import type { Budget } from '../../../../../src/api/budgets.ts';
import type { Usage } from '../../../../../src/api/sessions.ts';
import { knownReset } from '../../../../../src/server/conversations/usage/limits/limit.ts';
import { readUsageUpdate, UsageMeter } from '../../../../../src/agents/acp/usage.ts';
import { readResultUsage } from '../../../../../src/agents/claude/outcome.ts';
import { Meter } from '../../../../../src/agents/codex/usage.ts';
import { RecordTable } from '../../../../../src/core/store/records.ts';
import { budgetsOf, used } from '../../../../support/budgets.ts';
import { openDatabase } from '../../../../support/database.ts';
import { expectEventually } from '../../../../support/expect-eventually.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { queueOf } from '../../../../support/queue/queue.ts';
import {
  killed,
  withHarness,
  type Harness,
  testHarness,
} from '../../../../support/sessions/harness.ts';
import { completed } from '../../../../support/teams/team.ts';

const bad = [-1_000_000, 1e308, Infinity, NaN, 0.5, 2 ** 53, '12' as unknown as number];

/** Runs turns of new sessions, each of which reports a usage during its turn and at its end. */
async function report(harness: Harness, usages: readonly Partial<Usage>[]) {
  for (const [done, usage] of usages.entries()) {
    const { turn } = await harness.atWork();
    await turn.sink.update({ type: 'usage', usage });
    turn.end({ ...completed, usage });
    await harness.times('turn.completed', done + 1);
  }
}

it('A number of tokens or a cost out of its range is not known: no sum changes, no budget is used up, and a notice names the field.', async () => {
  const harness = await testHarness();
  const budgets = budgetsOf(harness);
  await budgets.set({ tokens: 1000, cost_usd: 10, hard: true });
  await report(harness, [
    ...bad.map((total_tokens) => ({ total_tokens })),
    ...bad.map((input_tokens) => ({ input_tokens, output_tokens: 1 })),
    ...[-5, 1e308, Infinity, NaN].map((cost_usd) => ({ cost_usd })),
  ]);
  const [budget] = await budgets.list();
  expect(budget).toMatchObject({ status: 'open', spent: { tokens: bad.length, cost_usd: 0 } });
  const { total, rows } = await budgets.usage();
  expect(total).toMatchObject({ total_tokens: bad.length, cost_usd: null });
  expect(rows).toHaveLength(1);
  const notices = harness.seen.flatMap((one) =>
    one.kind === 'session.notice' ? [one.payload] : [],
  );
  expect(notices.filter(({ code }) => code === 'usage_out_of_range')).toHaveLength(18);
  expect(notices[0]?.message).toContain('total_tokens');
});

it('A later report of a turn takes nothing back from the sums of its session, the usage and the budgets.', async () => {
  const harness = await testHarness();
  const budgets = budgetsOf(harness);
  const session = await harness.open();
  const { body } = await budgets.set({ session_id: session.id, tokens: 1000 });
  const turn = await harness.startTurn(session);
  turn.end(used(900, 2));
  await harness.times('turn.completed', 1);
  for (const [nth, usage] of [
    { total_tokens: 10, cost_usd: 0 },
    { total_tokens: null, input_tokens: 1 },
    { total_tokens: -900 },
  ].entries()) {
    await turn.sink.update({ type: 'usage', usage });
    await harness.times('usage.updated', nth + 1);
    expect((await budgets.get(body)).spent).toMatchObject({ tokens: 900, cost_usd: 2 });
    expect((await budgets.usage()).total).toMatchObject({ total_tokens: 900, cost_usd: 2 });
    expect((await harness.session(session.id)).usage).toMatchObject({ total_tokens: 900 });
  }
});

it('Sums of the largest numbers stay at the largest exact integer, and what a person sets then is still a limit.', async () => {
  const harness = await testHarness();
  const budgets = budgetsOf(harness);
  await budgets.set({ tokens: 1000 });
  const { turn } = await harness.atWork();
  turn.end(used(1e12, 1e6));
  await harness.until(({ kind }) => kind === 'budget.reached');
  const [approval] = await harness.approvals('?status=pending');
  if (!approval) throw new Error('no approval');
  await harness.decide(approval, 'accept');
  const [budget] = await budgets.list();
  expect(budget).toMatchObject({ status: 'open', allowed: { tokens: 1e12 + 1000 } });
});

it('Sums out of range that an earlier build stored are counted anew at the start, and hold nobody.', async () => {
  await using dead = await killed(async (harness) => {
    const session = await harness.open();
    await budgetsOf(harness).set({ session_id: session.id, tokens: 100 });
    (await harness.startTurn(session)).end(used(40));
    await harness.times('turn.completed', 1);
    return session;
  });
  const db = await openDatabase(dead.directory);
  const rows = db.prepare('UPDATE turn_usage SET cost_usd = 1e308, input_tokens = -7');
  const records = new RecordTable<Budget>(db, 'budgets', ({ id }) => id);
  await db.transact((tx) => {
    rows.run(tx);
    const [budget] = records.where(tx, 'true');
    if (!budget) throw new Error('no budget');
    const { spent, allowed } = budget;
    // An infinite number was stored as null.
    const lost = { ...allowed, tokens: null };
    records.update(tx, { ...budget, spent: { ...spent, tokens: -98_500 }, allowed: lost });
  });
  await db.close();
  await withHarness(
    async (harness) => {
      const budgets = budgetsOf(harness);
      await expectEventually(() => budgets.list()).toMatchObject([
        { spent: { tokens: 40 }, allowed: { tokens: 100 } },
      ]);
      const { total } = await budgets.usage();
      expect(total).toMatchObject({ total_tokens: 40, input_tokens: null, cost_usd: null });
      expect((await queueOf(harness).of(dead.left)).holds).toEqual([]);
    },
    { directory: dead.directory, clock: new ManualClock(dead.at) },
  );
});

const unknown = (value: unknown) => value === undefined || value === null || Number.isNaN(value);

it.for(bad)('No adapter does arithmetic with %d.', (value) => {
  const acp = new UsageMeter({
    isCumulative: () => true,
    isCostOfProcess: () => false,
    before: null,
  });
  const answer = (totalTokens: number) => ({ usage: { totalTokens } });
  expect(acp.turn(answer(100))).toMatchObject({ total_tokens: 100 });
  expect(unknown(acp.turn(answer(value))?.total_tokens)).toBe(true);
  expect(acp.turn(answer(130))).toMatchObject({ total_tokens: 30 });
  const update = readUsageUpdate({ used: value, size: value });
  if (update === 'unknown' || update.type !== 'usage') throw new Error('not read');
  expect(unknown(update.usage.context_tokens)).toBe(true);

  const codex = new Meter();
  const counts = (total: number) => ({
    totalTokens: total,
    inputTokens: total,
    cachedInputTokens: 0,
    outputTokens: 0,
  });
  const readUsage = (total: number, last: number) =>
    codex.read({ tokenUsage: { total: counts(total), last: counts(last) } });
  codex.begin();
  const read = readUsage(value, 5);
  expect(read === 'unknown' || unknown(read.total_tokens)).toBe(true);
  codex.begin();
  expect(readUsage(50, 5)).toMatchObject({ total_tokens: 5 });

  const { usage } = readResultUsage({ usage: { input_tokens: value, output_tokens: 3 } }, null);
  expect([unknown(usage.input_tokens), usage.output_tokens]).toEqual([true, 3]);
});

it('A limit that is said to reset at no time that a calendar has, or years from now, resets at an unknown time.', () => {
  const now = 1_750_000_000_000;
  for (const at of [-1, 0, NaN, Infinity, 1e308, now * 3]) expect(knownReset(at, now)).toBeNull();
  expect(knownReset(now - 1, now)).toBe(now - 1);
  expect(knownReset(now + 3_600_000.5, now)).toBe(now + 3_600_001);
});

it.for([
  [{ per: 'total', turns: 5 }, 'body.per: a total budget must name a session or a team'],
  [{ tokens: 0.5 }, 'body.tokens'],
  [{ turns: 0.5 }, 'body.turns'],
  [{ tokens: -1 }, 'body.tokens'],
  [{ tokens: 2 ** 53 }, 'body.tokens'],
  [{ cost_usd: 1e308 }, 'body.cost_usd'],
  [{ cost_usd: 1e-12 }, 'body.cost_usd'],
] as const)('No budget is set by %j.', async ([body, words]) => {
  const harness = await testHarness();
  const { status, body: refusal } = await budgetsOf(harness).set(body);
  expect([status, refusal.code]).toEqual([400, 'invalid']);
  expect(refusal.error).toContain(words);
  expect(await budgetsOf(harness).list()).toEqual([]);
});
