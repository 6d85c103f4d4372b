import { TokenService } from '../../core/access/tokens.ts';
import type { RecoverySummary } from '../../api/runtime.ts';
import type { Base } from './base.ts';
import { buildBudgets } from './build/budgets.ts';
import { buildChildren } from './build/children.ts';
import { buildDiagnostics } from './build/diagnostics.ts';
import { buildGateway } from './build/gateway.ts';
import { buildHooks } from './build/hooks.ts';
import { buildLimits } from './build/limits.ts';
import { buildProcesses } from './build/processes.ts';
import { buildProviders } from './build/providers.ts';
import { buildQueue } from './build/queue.ts';
import { buildReviews } from './build/reviews.ts';
import { buildServer } from './build/server.ts';
import { buildSessions } from './build/sessions.ts';
import { buildSnapshots } from './build/snapshots.ts';
import { buildStorage } from './build/storage.ts';
import { buildTeams } from './build/teams.ts';
import { buildWorktrees } from './build/worktrees.ts';
import { FleetSeat } from './fleet.ts';
import { SearchSeat } from './search.ts';
import type { RuntimeOptions } from './options.ts';
import type { Undo } from '../../core/lib/undo.ts';

export type Nouns = ReturnType<typeof buildNouns>;
export type Edge = ReturnType<typeof buildEdge>;

/** Builds each noun after those that it needs. Nothing runs by itself yet, and no row is written. */
export function buildNouns(base: Base, options: RuntimeOptions, undo: Undo) {
  const storage = buildStorage(base, undo);
  const children = buildChildren(base);
  const providers = buildProviders(base, children, options);
  const sessions = buildSessions(base, { storage, children, providers });
  const hooks = buildHooks(base, { storage, children, sessions });
  const limits = buildLimits(base, { sessions });
  const processes = buildProcesses(base, { storage, children, sessions });
  const worktrees = buildWorktrees(base, { storage, children, sessions, processes });
  const snapshots = buildSnapshots(base, { sessions, worktrees });
  const teams = buildTeams(base, { storage, providers, sessions, worktrees });
  const budgets = buildBudgets(base, { sessions, teams });
  const queue = buildQueue(base, { sessions, limits, budgets });
  const reviews = buildReviews(base, { sessions, queue, snapshots });
  const gateway = buildGateway(base, { storage, sessions, processes, worktrees, teams }, options);
  const searching = undo.use(
    new SearchSeat(base, {
      store: sessions.store,
      agentsOf: (rx, teamId) => teams.service.agentsOf(rx, teamId),
      shortage: () => storage.budget.shortage(),
    }),
  );
  const lower = { storage, children, providers, sessions, limits, queue, hooks };
  return { ...lower, processes, worktrees, snapshots, reviews, teams, budgets, gateway, searching };
}

/** Builds the parts that admit requests. It must follow recovery, because tokens begin to expire here. */
export function buildEdge(base: Base, nouns: Nouns, recovery: RecoverySummary, undo: Undo) {
  const { config } = base;
  const tokens = undo.use(
    new TokenService({
      ...base,
      apiToken: () => config.now.auth.token,
      onRevoked: (tx, id) => nouns.processes.service.killAllOfCaller(tx, id, 'token_revoked'),
    }),
  );
  const fleet = new FleetSeat(base);
  const diagnostics = buildDiagnostics(base, { ...nouns, fleet }, recovery, undo);
  const server = buildServer(base, nouns, { tokens, diagnostics });
  undo.defer(() => server.close());
  return { tokens, diagnostics, server, fleet };
}
