import type { FleetStatus, RecoverySummary } from '../../../api/runtime.ts';
import { SessionCounts } from '../../upkeep/diagnostics/counts.ts';
import { readDiagnostics } from '../../upkeep/diagnostics/diagnostics.ts';
import { watchEventLoop } from '../../upkeep/diagnostics/event-loop.ts';
import { readFigures } from '../../upkeep/diagnostics/metrics.ts';
import { readHealth } from '../../upkeep/diagnostics/health.ts';
import type { Sources } from '../../upkeep/diagnostics/sources.ts';
import { StorageUsage } from '../../upkeep/diagnostics/usage.ts';
import type { Base } from '../base.ts';
import type { Nouns } from '../build.ts';
import type { Undo } from '../../../core/lib/undo.ts';

export type ServerDiagnostics = ReturnType<typeof buildDiagnostics>;

export function buildDiagnostics(
  base: Base,
  nouns: Nouns & { fleet: { readonly status: FleetStatus } },
  recovery: RecoverySummary,
  undo: Undo,
) {
  const { db, clock, config } = base;
  const { budget, feed, tally } = nouns.storage;
  const settings = () => config.now.retention;
  const usage = new StorageUsage({ ...base, budget, settings });
  const sources: Sources = {
    clock,
    startedAt: clock.monotonic(),
    db,
    budget,
    usage,
    feed,
    tally,
    counts: new SessionCounts(db),
    eventLoop: undo.use(watchEventLoop(clock)),
    recovery,
    providers: nouns.providers.registry,
    agents: nouns.sessions.pool,
    maxAgents: () => config.now.providers.max_live,
    processes: nouns.processes.service,
    worktrees: nouns.worktrees.service,
    teams: nouns.teams.service,
    queue: nouns.queue,
    hooks: nouns.hooks,
    supervisor: nouns.children.supervisor,
    keeper: nouns.children.keeper,
    shim: nouns.children.shim,
    sandbox: nouns.children.sandbox,
    fleet: () => nouns.fleet.status,
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
