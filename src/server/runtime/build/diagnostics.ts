import type { RecoverySummary } from '../../../api/runtime.ts';
import type { QueueService } from '../../conversations/queue/service.ts';
import { SessionCounts } from '../../upkeep/diagnostics/counts.ts';
import { readDiagnostics } from '../../upkeep/diagnostics/diagnostics.ts';
import { watchEventLoop } from '../../upkeep/diagnostics/event-loop.ts';
import { readFigures } from '../../upkeep/diagnostics/metrics.ts';
import { readHealth } from '../../upkeep/diagnostics/health.ts';
import type { Sources } from '../../upkeep/diagnostics/sources.ts';
import { StorageUsage } from '../../upkeep/diagnostics/usage.ts';
import type { Base } from '../base.ts';
import type { FleetSeat } from '../fleet.ts';
import type { HookSeat } from '../hook-seat.ts';
import type { Children } from './children.ts';
import type { Processes } from './processes.ts';
import type { Providers } from './providers.ts';
import type { Sessions } from './sessions.ts';
import type { Storage } from './storage.ts';
import type { Teams } from './teams.ts';
import type { Worktrees } from './worktrees.ts';
import type { Undo } from '../../../core/lib/undo.ts';

/** The nouns that diagnostics measure. */
interface Measured {
  storage: Storage;
  children: Children;
  providers: Providers;
  sessions: Sessions;
  queue: QueueService;
  hooks: HookSeat;
  processes: Processes;
  worktrees: Worktrees;
  teams: Teams;
  fleet: Pick<FleetSeat, 'status'>;
}

export type ServerDiagnostics = ReturnType<typeof buildDiagnostics>;

/** Builds health, diagnostics and metrics. */
export function buildDiagnostics(
  base: Base,
  nouns: Measured,
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
