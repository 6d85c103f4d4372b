import { BudgetAsking } from '../../conversations/usage/budgets/asking.ts';
import { BudgetGuard } from '../../conversations/usage/budgets/guard.ts';
import { BudgetService } from '../../conversations/usage/budgets/service.ts';
import { BudgetStore } from '../../conversations/usage/budgets/store.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import { UsageService } from '../../conversations/usage/service.ts';
import type { Base } from '../base.ts';
import { fill, type NeedsOf } from '../hooks.ts';
import type { Sessions } from './sessions.ts';
import type { Teams } from './teams.ts';

export type Budgets = ReturnType<typeof buildBudgets>;

/** Builds what sums the usage of turns, and the budgets for it. */
export function buildBudgets(
  base: Base,
  { sessions, teams }: { sessions: Sessions; teams: Teams },
) {
  const { store: sessionStore, inbox, runner } = sessions;
  const hooks = {} as Pick<NeedsOf<typeof BudgetGuard>, 'onTime'>;
  const teamName = (rx: Reader, id: string) => teams.store.teams.get(rx, id)?.name ?? null;
  const usage = new UsageService({ ...base, sessionStore, teamName });
  const store = new BudgetStore(base);
  const asking = new BudgetAsking({ ...base, sessionStore, teamName });
  const guard = new BudgetGuard({
    ...base,
    store,
    asking,
    sessionStore,
    teamsOf: (rx, id) => teams.store.teamsOf(rx, id).map((team) => team.id),
    membersOf: (rx, id) => teams.store.agents(rx, id),
    wake: (tx) => inbox.wake(tx),
    interrupt: (tx, turn, error) => runner.requestInterrupt(tx, turn, error),
    onTime: (at) => hooks.onTime(at),
  });
  const service = new BudgetService({
    ...base,
    store,
    guard,
    sessionStore,
    assertTeam: (rx, id) => void teams.store.openTeam(rx, id),
  });
  fill(sessions.budgets, {
    onTurnEnded: (tx, turn) => guard.turnEnded(tx, turn),
    onUsage: (tx, turn, used) => guard.turnUses(tx, turn, used),
    onUsageAmended: (tx, turn, before) => guard.turnAmended(tx, turn, before),
    budgetHolds: (rx, id) => guard.holds(rx, id),
    assertBudget: (rx, id) => guard.assertFree(rx, id),
    onBudgetAnswered: (tx, approval) => guard.answered(tx, approval),
  });
  return { usage, guard, service, hooks };
}
