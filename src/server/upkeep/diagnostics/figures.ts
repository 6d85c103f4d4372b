import type { QueueDiagnostics } from '../../../api/queue.ts';
import type { WorktreeDiagnostics } from '../../../api/worktrees.ts';
import type { Distribution } from '../../../core/lib/distribution.ts';
import { commit, version } from '../../../core/lib/self.ts';
import { type Sources, uptimeMs } from './sources.ts';
import type { spreadOf } from './spread.ts';

/** The server's measurements of itself. Counters start at zero with each start of the server. */
export interface Figures {
  version: string;
  commit: string;
  uptimeMs: number;
  latestSeq: number;
  eventsByGroup: Record<string, number>;
  turnsEnded: Record<string, number>;
  sessions: Record<string, number>;
  worktrees: WorktreeDiagnostics;
  pendingApprovals: number;
  waitingDeliveries: number;
  queue: QueueDiagnostics;
  agents: Record<string, number>;
  children: number;
  streams: { followers: number; max_lag: number };
  syncMicroseconds: Distribution;
  groupSize: Distribution;
  checkpoints: number;
  walBytes: number;
  databaseBytes: number;
  loopDelayMicroseconds: ReturnType<typeof spreadOf>;
  memory: { rss: number; heapUsed: number };
}

const ENDINGS = ['completed', 'interrupted', 'failed'];

/** Returns the current figures. */
export async function readFigures(sources: Sources): Promise<Figures> {
  const { db, tally, counts, providers, agents, feed } = sources;
  return {
    version,
    commit,
    uptimeMs: uptimeMs(sources),
    latestSeq: feed.latestSeq,
    eventsByGroup: tally.byGroup(),
    turnsEnded: Object.fromEntries(ENDINGS.map((status) => [status, tally.of(`turn.${status}`)])),
    sessions: await counts.byStatus(),
    worktrees: sources.worktrees.diagnostics(),
    pendingApprovals: await counts.pendingApprovals(),
    waitingDeliveries: await sources.teams.waitingCount(),
    queue: sources.queue.diagnostics(),
    agents: Object.fromEntries(providers.all().map(({ id }) => [id, agents.count(id)])),
    children: sources.supervisor.live,
    streams: feed.stats(),
    syncMicroseconds: db.stats.syncMicroseconds,
    groupSize: db.stats.groupSize,
    checkpoints: db.checkpoints,
    walBytes: db.walBytes,
    databaseBytes: sources.usage.figures().database_bytes,
    loopDelayMicroseconds: sources.eventLoop.delayMicroseconds(),
    memory: process.memoryUsage(),
  };
}
