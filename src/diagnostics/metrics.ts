import type { Distribution } from '../lib/distribution.ts';
import type { WorktreeDiagnostics } from '../api/worktrees.ts';
import { exposition, type Metric, type Sample } from './prometheus.ts';
import type { spreadOf } from './spread.ts';

/** What the server measures of itself. */
export interface Figures {
  version: string;
  commit: string;
  uptimeMs: number;
  latestSeq: number;
  /** Since the start, as are all that only grow. */
  eventsByGroup: Record<string, number>;
  turnsEnded: Record<string, number>;
  sessions: Record<string, number>;
  worktrees: WorktreeDiagnostics;
  pendingApprovals: number;
  waitingDeliveries: number;
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

const METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']);
const MICRO = 1e-6;

/** Requests that were answered, by method and class of status. */
export class RequestCounts {
  readonly #counts = new Map<string, Sample & { labels: Record<string, string> }>();

  add(method: string, status: number): void {
    // Whoever asks may name methods without end.
    const labels = {
      method: METHODS.has(method) ? method : 'other',
      status: `${Math.floor(status / 100)}xx`,
    };
    const key = `${labels.method} ${labels.status}`;
    this.#counts.set(key, { labels, value: (this.#counts.get(key)?.value ?? 0) + 1 });
  }

  samples(): Sample[] {
    return [...this.#counts.values()];
  }
}

/** The answer of `GET /metrics`. */
export function metricsText(figures: Figures, requests: RequestCounts): string {
  return exposition([
    ...workMetrics(figures),
    ...connectionMetrics(figures, requests),
    ...storeMetrics(figures),
    ...processMetrics(figures),
  ]);
}

/** Sessions, turns, worktrees, approvals, deliveries and agents. */
function workMetrics(figures: Figures): Metric[] {
  const { version, commit } = figures;
  const { active, retained, cleaned, missing } = figures.worktrees;
  return [
    labelled('gauge', 'cadre_build_info', 'What runs; always 1.', [
      { labels: { version, commit }, value: 1 },
    ]),
    one('gauge', 'cadre_uptime_seconds', 'Since the start.', figures.uptimeMs / 1000),
    one('gauge', 'cadre_latest_seq', 'The newest event on disk.', figures.latestSeq),
    labelled(
      'counter',
      'cadre_events_appended_total',
      'Events that have reached the disk, by group of kinds.',
      by('group', figures.eventsByGroup),
    ),
    labelled('gauge', 'cadre_sessions', 'Sessions by status.', by('status', figures.sessions)),
    labelled(
      'counter',
      'cadre_turns_ended_total',
      'Turns that have ended, by how.',
      by('status', figures.turnsEnded),
    ),
    labelled(
      'gauge',
      'cadre_worktrees',
      'Worktrees by status.',
      by('status', { active, retained, cleaned, missing }),
    ),
    one('gauge', 'cadre_worktree_claims', 'Claims on worktrees.', figures.worktrees.active_claims),
    one(
      'gauge',
      'cadre_approvals_pending',
      'Approvals that wait for an answer.',
      figures.pendingApprovals,
    ),
    one(
      'gauge',
      'cadre_deliveries_waiting',
      'Messages to members of teams that wait for their turn.',
      figures.waitingDeliveries,
    ),
    labelled('gauge', 'cadre_agents', 'Live agents by provider.', by('provider', figures.agents)),
    one('gauge', 'cadre_children', 'Live child processes.', figures.children),
  ];
}

/** Streams and requests. */
function connectionMetrics({ streams }: Figures, requests: RequestCounts): Metric[] {
  return [
    one('gauge', 'cadre_streams', 'Open streams of events.', streams.followers),
    one(
      'gauge',
      'cadre_stream_lag_max_events',
      'How far the slowest stream is behind the newest event.',
      streams.max_lag,
    ),
    labelled(
      'counter',
      'cadre_http_requests_total',
      'Requests that were answered, by method and class of status.',
      requests.samples(),
    ),
  ];
}

function storeMetrics(figures: Figures): Metric[] {
  const { syncMicroseconds: sync } = figures;
  return [
    {
      type: 'histogram',
      name: 'cadre_store_sync_duration_seconds',
      help: 'How long a sync of the log took.',
      buckets: sync.buckets().map(({ bound, count }) => ({ bound: seconds(bound), count })),
      sum: seconds(sync.sum),
      count: sync.count,
    },
    {
      type: 'histogram',
      name: 'cadre_store_group_size_transactions',
      help: 'How many transactions were committed together.',
      buckets: figures.groupSize.buckets(),
      sum: figures.groupSize.sum,
      count: figures.groupSize.count,
    },
    one(
      'counter',
      'cadre_store_checkpoints_total',
      'How often the log was written back.',
      figures.checkpoints,
    ),
    one('gauge', 'cadre_store_wal_bytes', 'The write-ahead log.', figures.walBytes),
    one('gauge', 'cadre_store_database_bytes', 'The database.', figures.databaseBytes),
  ];
}

/** The event loop and the memory of the server. */
function processMetrics({ memory, loopDelayMicroseconds: delay }: Figures): Metric[] {
  return [
    {
      type: 'summary',
      name: 'cadre_event_loop_delay_seconds',
      help: 'How late the event loop was.',
      quantiles: [
        { quantile: 0.5, value: seconds(delay.p50) },
        { quantile: 0.99, value: seconds(delay.p99) },
        { quantile: 1, value: seconds(delay.max) },
      ],
      sum: seconds(delay.mean * delay.count),
      count: delay.count,
    },
    one('gauge', 'cadre_memory_resident_bytes', 'Memory of the server.', memory.rss),
    one('gauge', 'cadre_memory_heap_used_bytes', 'Memory of its objects.', memory.heapUsed),
  ];
}

function one(type: 'counter' | 'gauge', name: string, help: string, value: number): Metric {
  return labelled(type, name, help, [{ value }]);
}

function labelled(
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  samples: readonly Sample[],
): Metric {
  return { type, name, help, samples };
}

function by(label: string, counts: Record<string, number>): Sample[] {
  return Object.entries(counts).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

/** Microseconds as seconds, without what binary fractions add. */
function seconds(micros: number): number {
  return Number((micros * MICRO).toFixed(7));
}
