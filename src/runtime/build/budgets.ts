import { BudgetAsking } from '../../budgets/asking.ts';
import { BudgetGuard } from '../../budgets/guard.ts';
import { BudgetService } from '../../budgets/service.ts';
import { BudgetStore } from '../../budgets/store.ts';
import type { Reader } from '../../store/transaction.ts';
import { UsageService } from '../../usage/service.ts';
import type { Base } from '../base.ts';
import type { Sessions } from './sessions.ts';
import type { Teams } from './teams.ts';

export type Budgets = ReturnType<typeof buildBudgets>;

/** Builds what sums the usage of turns, and the budgets for it. */
export function buildBudgets(
  base: Base,
  { sessions, teams }: { sessions: Sessions; teams: Teams },
) {
  const { store: sessionStore, inbox, notifier, runner, hooks } = sessions;
  const teamName = (rx: Reader, id: string) => teams.store.teams.get(rx, id)?.name ?? null;
  const usage = new UsageService({ ...base, sessionStore, teamName });
  const store = new BudgetStore(base);
  const asking = new BudgetAsking({
    ...base,
    sessionStore,
    teamName,
    notify: (approval) => notifier.notify(approval),
  });
  const guard = new BudgetGuard({
    ...base,
    store,
    asking,
    sessionStore,
    teamsOf: (rx, id) => teams.store.teamsOf(rx, id).map((team) => team.id),
    membersOf: (rx, id) => teams.store.agents(rx, id),
    wake: (tx) => inbox.wake(tx),
    interrupt: (tx, turn, error) => runner.requestInterrupt(tx, turn, error),
    onTime: (at) => hooks.onHoldUntil(at),
  });
  const service = new BudgetService({
    ...base,
    store,
    guard,
    sessionStore,
    assertTeam: (rx, id) => void teams.store.openTeam(rx, id),
  });
  return { usage, guard, service };
}
