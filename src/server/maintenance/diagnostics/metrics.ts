import type { Distribution } from '../../../core/lib/distribution.ts';
import { commit, version } from '../../../core/lib/self.ts';
import { exposition, type Metric, type Sample } from './prometheus.ts';
import type { RequestCounts } from './requests.ts';
import { type Sources, uptimeMs } from './sources.ts';
import type { spreadOf } from './spread.ts';

const ENDINGS = ['completed', 'interrupted', 'failed'];

/** The server's measurements of itself. Counters start at zero with each start of the server. */
export type Figures = Awaited<ReturnType<typeof readFigures>>;

export async function readFigures(sources: Sources) {
  const { db, eventCounts, counts, providers, agents, feed } = sources;
  return {
    version,
    commit,
    uptimeMs: uptimeMs(sources),
    latestSeq: feed.latestSeq,
    eventsByGroup: eventCounts.byGroup(),
    turnsEnded: Object.fromEntries(
      ENDINGS.map((status) => [status, eventCounts.of(`turn.${status}`)]),
    ),
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

type Read<T> = (figures: Figures, requests: RequestCounts) => T;
type Of<Type extends Metric['type']> = Omit<
  Extract<Metric, { type: Type }>,
  'type' | 'name' | 'help'
>;

/** Returns the function that describes metrics of a type with one value, or one for each label. */
function simple(type: 'counter' | 'gauge') {
  return (name: string, help: string, read: Read<number | readonly Sample[]>): Read<Metric> =>
    (...figures) => {
      const value = read(...figures);
      return { type, name, help, samples: typeof value === 'number' ? [{ value }] : value };
    };
}

const counter = simple('counter');
const gauge = simple('gauge');

/** The metrics, in the order of the output. */
const table: readonly Read<Metric>[] = [
  gauge('cadre_build_info', 'Version and commit of the server; always 1.', (now) => [
    { labels: { version: now.version, commit: now.commit }, value: 1 },
  ]),
  gauge(
    'cadre_uptime_seconds',
    'Time since the start of the server.',
    (now) => now.uptimeMs / 1000,
  ),
  gauge('cadre_latest_seq', 'Sequence number of the newest stored event.', (now) => now.latestSeq),
  counter('cadre_events_appended_total', 'Stored events, by group of kinds.', (now) =>
    by('group', now.eventsByGroup),
  ),
  gauge('cadre_sessions', 'Sessions by status.', (now) => by('status', now.sessions)),
  counter('cadre_turns_ended_total', 'Turns that have ended, by status.', (now) =>
    by('status', now.turnsEnded),
  ),
  gauge(
    'cadre_worktrees',
    'Worktrees by status.',
    ({ worktrees: { active, retained, cleaned, missing } }) =>
      by('status', { active, retained, cleaned, missing }),
  ),
  gauge(
    'cadre_worktree_claims',
    'Active claims on worktrees.',
    (now) => now.worktrees.active_claims,
  ),
  gauge('cadre_approvals_pending', 'Pending approvals.', (now) => now.pendingApprovals),
  gauge(
    'cadre_deliveries_waiting',
    'Pending messages to team members.',
    (now) => now.waitingDeliveries,
  ),
  gauge('cadre_queue_entries', 'Queue entries of all sessions, by status.', (now) =>
    by('status', now.queue.entries),
  ),
  gauge('cadre_agents', 'Live agents by provider.', (now) => by('provider', now.agents)),
  gauge('cadre_children', 'Live child processes.', (now) => now.children),
  gauge('cadre_streams', 'Open event streams.', (now) => now.streams.followers),
  gauge(
    'cadre_stream_lag_max_events',
    'Number of events between the slowest stream and the newest event.',
    (now) => now.streams.max_lag,
  ),
  counter(
    'cadre_http_requests_total',
    'Completed requests, by method and status class.',
    (_now, requests) => requests.samples(),
  ),
  (now) => ({
    type: 'histogram',
    name: 'cadre_store_sync_duration_seconds',
    help: 'Duration of a sync of the write-ahead log.',
    ...inSeconds(now.syncMicroseconds),
  }),
  ({ groupSize }) => ({
    type: 'histogram',
    name: 'cadre_store_group_size_transactions',
    help: 'Transactions of a group commit.',
    buckets: groupSize.buckets(),
    sum: groupSize.sum,
    count: groupSize.count,
  }),
  counter(
    'cadre_store_checkpoints_total',
    'Checkpoints of the write-ahead log.',
    (now) => now.checkpoints,
  ),
  gauge('cadre_store_wal_bytes', 'Size of the write-ahead log.', (now) => now.walBytes),
  gauge('cadre_store_database_bytes', 'Size of the database file.', (now) => now.databaseBytes),
  (now) => ({
    type: 'summary',
    name: 'cadre_event_loop_delay_seconds',
    help: 'Delay of the event loop.',
    ...quantilesOf(now.loopDelayMicroseconds),
  }),
  gauge('cadre_memory_resident_bytes', 'Resident memory of the server.', (now) => now.memory.rss),
  gauge('cadre_memory_heap_used_bytes', 'Heap memory of the server.', (now) => now.memory.heapUsed),
];

const MICRO = 1e-6;

/** Returns the response of `GET /metrics`. */
export function metricsText(figures: Figures, requests: RequestCounts): string {
  return exposition(table.map((metric) => metric(figures, requests)));
}

function by(label: string, counts: Record<string, number>): Sample[] {
  return Object.entries(counts).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

function inSeconds(micros: Distribution): Of<'histogram'> {
  return {
    buckets: micros.buckets().map(({ bound, count }) => ({ bound: seconds(bound), count })),
    sum: seconds(micros.sum),
    count: micros.count,
  };
}

function quantilesOf(micros: ReturnType<typeof spreadOf>): Of<'summary'> {
  return {
    quantiles: [
      { quantile: 0.5, value: seconds(micros.p50) },
      { quantile: 0.99, value: seconds(micros.p99) },
      { quantile: 1, value: seconds(micros.max) },
    ],
    sum: seconds(micros.mean * micros.count),
    count: micros.count,
  };
}

/** Converts microseconds to seconds, without the rounding errors of binary fractions. */
function seconds(micros: number): number {
  return Number((micros * MICRO).toFixed(7));
}
