import { expect, it } from 'vitest';
import type { Health } from '../../../../../src/api/runtime.ts';
import { sqlWasm } from '../../../../../src/core/lib/self.ts';
import { openConnection } from '../../../../../src/core/store/connection.ts';
import { budgetsOf, used } from '../../../../support/budgets.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { queueOf } from '../../../../support/queue/queue.ts';
import { testHarness, withHarness } from '../../../../support/sessions/harness.ts';
import { testDirectory } from '../../../../support/temp.ts';

it('A damaged budget does not stop the start of the server, and only its own session starts no turn.', async () => {
  const directory = testDirectory('data');
  const clock = new ManualClock();
  const [damaged, other, budget, otherBudget] = await withHarness(
    async (harness) => {
      const sessions = [await harness.open(), await harness.open()] as const;
      const { set } = budgetsOf(harness);
      const budgets = [];
      for (const { id } of sessions)
        budgets.push((await set({ session_id: id, tokens: 100 })).body);
      return [...sessions, ...budgets] as const;
    },
    { directory, clock },
  );
  {
    using connection = await openConnection({ wasm: sqlWasm, directory });
    connection.sql.exec('UPDATE budgets SET sum = sum + 1 WHERE n = 1');
  }
  const harness = await testHarness({ directory, clock: new ManualClock(clock.now()) });
  const turn = await harness.startTurn(other);
  turn.end(used(100));
  await harness.until(({ kind }) => kind === 'budget.reached');
  if (!budget || !otherBudget) throw new Error('no budgets');
  expect(await budgetsOf(harness).get(otherBudget)).toMatchObject({ spent: { tokens: 100 } });
  const message = `the budget "${budget.id}" cannot be read`;
  const { status, body } = await harness.send(damaged, 'go');
  expect([status, body]).toEqual([
    500,
    expect.objectContaining({
      code: 'storage_damaged',
      error: expect.stringContaining(message) as string,
    }),
  ]);
  const { holds } = await queueOf(harness).of(damaged);
  expect(holds).toMatchObject([
    { code: 'budget', message: expect.stringContaining(message) as string },
  ]);
  const { body: health } = await harness.get<Health>('/v1/health');
  expect(health.checks.store).toMatchObject({
    detail: expect.stringContaining('table budgets') as string,
  });
});
