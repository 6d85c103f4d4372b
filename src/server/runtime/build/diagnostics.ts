import type { FleetStatus, RecoverySummary } from '../../../api/runtime.ts';
import { SessionCounts } from '../../maintenance/diagnostics/counts.ts';
import { readDiagnostics } from '../../maintenance/diagnostics/diagnostics.ts';
import { watchEventLoop } from '../../maintenance/diagnostics/event-loop.ts';
import { readFigures } from '../../maintenance/diagnostics/metrics.ts';
import { readHealth } from '../../maintenance/diagnostics/health.ts';
import type { Sources } from '../../maintenance/diagnostics/sources.ts';
import { StorageUsage } from '../../maintenance/diagnostics/usage.ts';
import type { Base } from '../base.ts';
import type { Components } from '../build.ts';
import type { Undo } from '../../../core/lib/undo.ts';

export type ServerDiagnostics = ReturnType<typeof buildDiagnostics>;

export function buildDiagnostics(
  base: Base,
  components: Components & { fleet: { readonly status: FleetStatus } },
  recovery: RecoverySummary,
  undo: Undo,
) {
  const { db, clock, config } = base;
  const { budget, feed, eventCounts } = components.storage;
  const settings = () => config.now.retention;
  const usage = new StorageUsage({ ...base, budget, settings });
  const sources: Sources = {
    clock,
    startedAt: clock.monotonic(),
    db,
    budget,
    usage,
    feed,
    eventCounts,
    counts: new SessionCounts(db),
    eventLoop: undo.use(watchEventLoop(clock)),
    recovery,
    providers: components.providers.registry,
    agents: components.sessions.pool,
    maxAgents: () => config.now.providers.max_live,
    processes: components.processes.service,
    worktrees: components.worktrees.service,
    teams: components.teams.service,
    queue: components.queue,
    hooks: components.hooks,
    supervisor: components.children.supervisor,
    keeper: components.children.keeper,
    shim: components.children.shim,
    sandbox: components.children.sandbox,
    fleet: () => components.fleet.status,
  };
  return {
    health: () => readHealth(sources),
    recovery: () => recovery,
    diagnostics: () => readDiagnostics(sources),
    storage: () => usage.diagnostics(),
    figures: () => readFigures(sources),
    pendingApprovals: () => sources.counts.pendingApprovals(),
    isAnyWaiting: () => sources.counts.isAnyWaiting(),
  };
}
