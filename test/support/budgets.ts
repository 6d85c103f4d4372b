import type { Budget } from '../../src/api/budgets.ts';
import type { UsageReport } from '../../src/api/usage.ts';
import type { TurnOutcome } from '../../src/agents/provider.ts';
import type { Refusal, Reply, Harness } from './sessions/harness.ts';

/** Returns the end of a turn with a number of used tokens and a cost. */
export function used(tokens: number | null, cost_usd: number | null = null): TurnOutcome {
  return { status: 'completed', error: null, usage: { total_tokens: tokens, cost_usd } };
}

/** Returns the requests of clients for the budgets of a harness. */
export function budgetsOf(harness: Harness) {
  return {
    set: (body: object): Promise<Reply<Budget & Refusal>> => harness.post('/v1/budgets', body),
    get: async ({ id }: { id: string }): Promise<Budget> =>
      (await harness.get<Budget>(`/v1/budgets/${id}`)).body,
    list: async (query = ''): Promise<Budget[]> =>
      (await harness.get<Budget[]>(`/v1/budgets${query}`)).body,
    remove: ({ id }: { id: string }): Promise<Reply<Budget & Refusal>> =>
      harness.del(`/v1/budgets/${id}`),
    usage: async (query = ''): Promise<UsageReport> =>
      (await harness.get<UsageReport>(`/v1/usage${query}`)).body,
  };
}
