import type { Distribution } from '../../../core/lib/distribution.ts';
import type { Figures } from './figures.ts';
import { exposition, type Metric, type Sample } from './prometheus.ts';
import type { RequestCounts } from './requests.ts';
import type { spreadOf } from './spread.ts';

type Read<T> = (figures: Figures, requests: RequestCounts) => T;
type Of<Type extends Metric['type']> = Omit<
  Extract<Metric, { type: Type }>,
  'type' | 'name' | 'help'
>;
type Row =
  | [type: 'counter' | 'gauge', name: string, help: string, value: Read<number | readonly Sample[]>]
  | [type: 'histogram', name: string, help: string, value: Read<Of<'histogram'>>]
  | [type: 'summary', name: string, help: string, value: Read<Of<'summary'>>];

/** The metrics, in the order of the output. */
const table: readonly Row[] = [
  [
    'gauge',
    'cadre_build_info',
    'Version and commit of the server; always 1.',
    ({ version, commit }) => [{ labels: { version, commit }, value: 1 }],
  ],
  [
    'gauge',
    'cadre_uptime_seconds',
    'Time since the start of the server.',
    ({ uptimeMs }) => uptimeMs / 1000,
  ],
  [
    'gauge',
    'cadre_latest_seq',
    'Sequence number of the newest stored event.',
    ({ latestSeq }) => latestSeq,
  ],
  [
    'counter',
    'cadre_events_appended_total',
    'Stored events, by group of kinds.',
    ({ eventsByGroup }) => by('group', eventsByGroup),
  ],
  ['gauge', 'cadre_sessions', 'Sessions by status.', ({ sessions }) => by('status', sessions)],
  [
    'counter',
    'cadre_turns_ended_total',
    'Turns that have ended, by status.',
    ({ turnsEnded }) => by('status', turnsEnded),
  ],
  [
    'gauge',
    'cadre_worktrees',
    'Worktrees by status.',
    ({ worktrees: { active, retained, cleaned, missing } }) =>
      by('status', { active, retained, cleaned, missing }),
  ],
  [
    'gauge',
    'cadre_worktree_claims',
    'Active claims on worktrees.',
    ({ worktrees }) => worktrees.active_claims,
  ],
  [
    'gauge',
    'cadre_approvals_pending',
    'Pending approvals.',
    ({ pendingApprovals }) => pendingApprovals,
  ],
  [
    'gauge',
    'cadre_deliveries_waiting',
    'Pending messages to team members.',
    ({ waitingDeliveries }) => waitingDeliveries,
  ],
  [
    'gauge',
    'cadre_queue_entries',
    'Queue entries of all sessions, by status.',
    ({ queue }) => by('status', queue.entries),
  ],
  ['gauge', 'cadre_agents', 'Live agents by provider.', ({ agents }) => by('provider', agents)],
  ['gauge', 'cadre_children', 'Live child processes.', ({ children }) => children],
  ['gauge', 'cadre_streams', 'Open event streams.', ({ streams }) => streams.followers],
  [
    'gauge',
    'cadre_stream_lag_max_events',
    'Number of events between the slowest stream and the newest event.',
    ({ streams }) => streams.max_lag,
  ],
  [
    'counter',
    'cadre_http_requests_total',
    'Completed requests, by method and status class.',
    (_figures, requests) => requests.samples(),
  ],
  [
    'histogram',
    'cadre_store_sync_duration_seconds',
    'Duration of a sync of the write-ahead log.',
    ({ syncMicroseconds }) => inSeconds(syncMicroseconds),
  ],
  [
    'histogram',
    'cadre_store_group_size_transactions',
    'Transactions of a group commit.',
    ({ groupSize: { sum, count }, groupSize }) => ({ buckets: groupSize.buckets(), sum, count }),
  ],
  [
    'counter',
    'cadre_store_checkpoints_total',
    'Checkpoints of the write-ahead log.',
    ({ checkpoints }) => checkpoints,
  ],
  ['gauge', 'cadre_store_wal_bytes', 'Size of the write-ahead log.', ({ walBytes }) => walBytes],
  [
    'gauge',
    'cadre_store_database_bytes',
    'Size of the database file.',
    ({ databaseBytes }) => databaseBytes,
  ],
  [
    'summary',
    'cadre_event_loop_delay_seconds',
    'Delay of the event loop.',
    ({ loopDelayMicroseconds }) => quantilesOf(loopDelayMicroseconds),
  ],
  [
    'gauge',
    'cadre_memory_resident_bytes',
    'Resident memory of the server.',
    ({ memory }) => memory.rss,
  ],
  [
    'gauge',
    'cadre_memory_heap_used_bytes',
    'Heap memory of the server.',
    ({ memory }) => memory.heapUsed,
  ],
];

const MICRO = 1e-6;

/** Returns the response of `GET /metrics`. */
export function metricsText(figures: Figures, requests: RequestCounts): string {
  return exposition(table.map((row) => metricOf(row, figures, requests)));
}

function metricOf(row: Row, figures: Figures, requests: RequestCounts): Metric {
  const [type, name, help, read] = row;
  if (type === 'histogram') return { type, name, help, ...read(figures, requests) };
  if (type === 'summary') return { type, name, help, ...read(figures, requests) };
  const value = read(figures, requests);
  return { type, name, help, samples: typeof value === 'number' ? [{ value }] : value };
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
