import { afterEach, expect, it, vi } from 'vitest';
import { Database } from '../../../../../src/core/store/database.ts';
import { Statement } from '../../../../../src/core/store/statement.ts';
import { used } from '../../../../support/budgets.ts';
import { testSession } from '../../../../support/sessions/harness.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it('A turn of people without budgets and limits costs one insert, and reads nothing for it.', async () => {
  const ran = watchStatements(/turn_usage|\bbudgets\b|usage_limits|FROM inbox WHERE .*owner = /);
  const { harness, session } = await testSession();
  // The first turn reads the empty tables of budgets and limits once.
  (await harness.startTurn(session)).end(used(1));
  await harness.times('turn.completed', 1);
  for (const count of [2, 3]) {
    ran.length = 0;
    const turn = await harness.startTurn(session);
    await turn.sink.update({ type: 'usage', usage: { total_tokens: 1 } });
    turn.end(used(2));
    await harness.times('turn.completed', count);
    expect(ran).toEqual([expect.stringMatching(/^run INSERT INTO turn_usage /)]);
  }
});

/** The statements that are run from now on and match, each as often as it is run. */
function watchStatements(pattern: RegExp): string[] {
  const ran: string[] = [];
  const sqlOf = new WeakMap<object, string>();
  const { prepare } = Database.prototype;
  vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database, sql) {
    const statement = prepare.call(this, sql);
    sqlOf.set(statement, sql);
    return statement;
  });
  for (const method of ['run', 'get', 'all', 'scan'] as const) {
    const original = Statement.prototype[method] as (...values: unknown[]) => unknown;
    const watched = function (this: Statement, ...values: unknown[]) {
      const sql = sqlOf.get(this) ?? '';
      if (pattern.test(sql)) ran.push(`${method} ${sql}`);
      return original.apply(this, values);
    };
    vi.spyOn(Statement.prototype, method).mockImplementation(watched as never);
  }
  return ran;
}
