import {
  type Budget,
  type listBudgets,
  MAX_BUDGETS,
  type setBudget,
} from '../../../../api/budgets.ts';
import type { BodyOf, QueryOf } from '../../../../api/endpoint.ts';
import { AppError, invalidError } from '../../../../api/errors.ts';
import type { ServerParts } from '../../../../core/events/server-parts.ts';
import { isTimeZone, ownTimeZone } from '../../../../core/lib/cron.ts';
import { assertNotClosed } from '../../sessions/session.ts';
import type { SessionStore } from '../../sessions/store.ts';
import type { SaveResponse } from '../../../../core/store/idempotency-store.ts';
import type { RecordPage } from '../../../../core/store/records.ts';
import type { Reader } from '../../../../core/store/transaction.ts';
import { dayAt, nothing, notReached } from './budget.ts';
import type { BudgetGuard } from './guard.ts';
import type { BudgetStore } from './store.ts';

interface BudgetServiceDeps extends Pick<ServerParts, 'db' | 'clock' | 'ids' | 'logger'> {
  store: BudgetStore;
  guard: BudgetGuard;
  sessionStore: SessionStore;
  /** Throws `not_found` or `team_deleted`. */
  teams: { openTeam: (rx: Reader, id: string) => unknown };
}

/** The use-cases of budgets. Each resolves or rejects once the rows that its result was read from are on disk. */
export class BudgetService {
  readonly #deps: BudgetServiceDeps;

  constructor(deps: BudgetServiceDeps) {
    this.#deps = deps;
  }

  list({ limit, cursor, ...filters }: QueryOf<typeof listBudgets>): Promise<RecordPage<Budget>> {
    const { db, store } = this.#deps;
    return db.read((rx) => store.budgets.page(rx, filters, limit, cursor));
  }

  get(id: string): Promise<Budget> {
    return this.#deps.db.read((rx) => this.#deps.store.budget(rx, id));
  }

  /** Sets a budget, in place of one of the same owner and period. Throws `invalid`, and `too_many` at the maximum. */
  async set(
    body: BodyOf<typeof setBudget>,
    by: string,
    saveResponse?: SaveResponse,
  ): Promise<Budget> {
    const { db, store, guard, clock, ids, logger } = this.#deps;
    const request = budgetRequestOf(body);
    const set = await db.transact((tx) => {
      this.#assertThere(tx, request);
      const before = store.find(tx, request);
      if (!before && store.count(tx) >= MAX_BUDGETS)
        throw new AppError(
          'too_many',
          `cannot set a budget, because the server already has the maximum of ${MAX_BUDGETS} budgets: remove a budget first`,
        );
      const now = clock.now();
      const budget: Budget = {
        id: before?.id ?? ids.next('bud'),
        ...request,
        allowed: request.limit,
        ...notReached,
        spent: nothing,
        ...dayAt(null, now),
        created_by: by,
        created_at: before?.created_at ?? now,
        updated_at: now,
      };
      return guard.put(tx, budget, before);
    }, saveResponse);
    logger.info({ budget_id: set.id, limit: set.limit, by }, 'a budget was set');
    return set;
  }

  /** Removes a budget. Throws `not_found`. */
  async remove(id: string, by: string): Promise<Budget> {
    const { db, store, guard, logger } = this.#deps;
    const removed = await db.transact((tx) => {
      const budget = store.budget(tx, id);
      guard.drop(tx, budget, 'removed');
      return budget;
    });
    logger.info({ budget_id: id, by }, 'a budget was removed');
    return removed;
  }

  #assertThere(rx: Reader, { session_id, team_id }: BudgetRequest): void {
    const { sessionStore, teams } = this.#deps;
    if (session_id !== null) assertNotClosed(sessionStore.session(rx, session_id));
    if (team_id !== null) teams.openTeam(rx, team_id);
  }
}

type BudgetRequest = Pick<
  Budget,
  'session_id' | 'team_id' | 'per' | 'time_zone' | 'limit' | 'hard'
>;

function budgetRequestOf(body: BodyOf<typeof setBudget>): BudgetRequest {
  const { session_id = null, team_id = null, hard } = body;
  const { tokens = null, cost_usd = null, turns = null } = body;
  if (session_id !== null && team_id !== null)
    throw invalidError(
      'body: a budget cannot have both a session and a team: set one budget for each',
    );
  if ((tokens ?? cost_usd ?? turns) === null)
    throw invalidError('body: a budget requires at least one limit: add tokens, cost_usd or turns');
  const per = body.per ?? (session_id === null && team_id === null ? 'day' : 'total');
  if (session_id === null && team_id === null && per === 'total')
    throw invalidError(
      'body.per: a total budget must name a session or a team: set session_id or team_id, or set per to "day"',
    );
  const zone = body.time_zone ?? null;
  if (zone !== null && per === 'total')
    throw invalidError('body.time_zone: only a budget per day can have a time zone');
  if (zone !== null && !isTimeZone(zone))
    throw invalidError(
      `body.time_zone: "${zone}" is not a time zone: use a name such as Europe/Berlin`,
    );
  const time_zone = per === 'day' ? (zone ?? ownTimeZone()) : null;
  return {
    session_id,
    team_id,
    per,
    time_zone,
    limit: { tokens, cost_usd, turns },
    hard: hard ?? false,
  };
}
