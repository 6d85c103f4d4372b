import { endpoints } from '../../../api/index.ts';
import type { BudgetService } from '../../conversations/usage/budgets/service.ts';
import type { UsageService } from '../../conversations/usage/service.ts';
import { type Mount, onePage, senderOf } from '../mount.ts';

export function usageRoutes(mount: Mount, usage: UsageService, budgets: BudgetService): void {
  mount(endpoints.getUsage, ({ query }) => usage.report(query));
  mount(endpoints.listBudgets, async ({ query, setHeader }) =>
    onePage(await budgets.list(query), setHeader),
  );
  mount(endpoints.getBudget, ({ params }) => budgets.get(params.budget_id));
  mount(endpoints.setBudget, ({ body, bearer, saveResponse }) =>
    budgets.set(body, senderOf({ bearer }), saveResponse),
  );
  mount(endpoints.removeBudget, ({ params, bearer }) =>
    budgets.remove(params.budget_id, senderOf({ bearer })),
  );
}
