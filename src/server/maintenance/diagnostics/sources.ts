import type { ProcessDiagnostics } from '../../../api/processes.ts';
import type { ProviderDiagnostics } from '../../../api/providers.ts';
import type { FleetStatus, RecoverySummary, SandboxStatus } from '../../../api/runtime.ts';
import type { QueueDiagnostics } from '../../../api/queue.ts';
import type { ProviderId } from '../../../api/provider-kinds.ts';
import type { CommsDiagnostics } from '../../../api/team-view.ts';
import type { WorktreeDiagnostics } from '../../../api/worktrees.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Feed } from '../../../core/events/feed.ts';
import type { StorageBudget } from '../retention/budget.ts';
import type { SessionCounts } from './counts.ts';
import type { watchEventLoop } from './event-loop.ts';
import type { EventCounts } from './event-counts.ts';
import type { StorageUsage } from './usage.ts';

/** The parts of the server that health, diagnostics and metrics read. */
export interface Sources extends Pick<ServerParts, 'db' | 'clock'> {
  /** The time of the server's start on the monotonic clock, in milliseconds. */
  startedAt: number;
  budget: StorageBudget;
  usage: StorageUsage;
  feed: Feed;
  eventCounts: EventCounts;
  counts: SessionCounts;
  eventLoop: ReturnType<typeof watchEventLoop>;
  recovery: RecoverySummary;
  providers: {
    all(): readonly { readonly id: ProviderId }[];
    unhealthy(): { id: ProviderId; detail: string }[];
    diagnostics(live: (id: ProviderId, agent?: string) => number): ProviderDiagnostics[];
  };
  agents: {
    count(provider?: ProviderId, agent?: string): number;
    readonly waiting: readonly { session_id: string; waited_ms: number; reason: string }[];
  };
  maxAgents: () => number;
  processes: { diagnostics(): ProcessDiagnostics };
  worktrees: { diagnostics(): WorktreeDiagnostics };
  teams: { diagnostics(): CommsDiagnostics; waitingCount(): Promise<number> };
  queue: { diagnostics(): QueueDiagnostics };
  /** The problems that a person has to solve; null if there is no hook. */
  hooks: { problems(): string[] | null };
  supervisor: { readonly live: number; readonly outOfReach: number };
  keeper: { readonly pid: number | null };
  /** Null if the configuration allows no agent to outlive the server. */
  shim: { readonly process: { identity: { readonly pid: number } } | null } | null;
  sandbox: { readonly status: SandboxStatus };
  fleet: () => FleetStatus;
}

/** Returns how long the server has been running, in milliseconds. */
export function uptimeMs({ clock, startedAt }: Pick<Sources, 'clock' | 'startedAt'>): number {
  return clock.monotonic() - startedAt;
}
