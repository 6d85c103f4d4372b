import { z } from 'zod';
import { component, failure, integer, nullableInteger, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { processDiagnostics } from './processes.ts';
import { providerDiagnostics } from './providers.ts';
import { queueDiagnostics } from './queue.ts';
import { worktreeDiagnostics } from './worktrees.ts';
import { commsDiagnostics } from './team-view.ts';

const healthStatus = z.enum(['ok', 'degraded']);

const healthCheck = component('HealthCheck', 'The health of one part of the server.', {
  status: healthStatus,
  detail: z.string().optional().meta({
    description: 'Problem and its solution. Present only if the status is not `ok`.',
  }),
});

const fleetStatus = component('FleetStatus', 'The membership of the server in its fleet.', {
  state: z
    .enum(['off', 'joining', 'member', 'name_taken', 'diverged', 'not_mirrored', 'unreachable'])
    .describe(
      'State of the fleet membership. `off`: no fleet is configured. `joining`: the server has not joined since its start. `member`: the server is a member; with a `detail`, its fleet was emptied or created again. `name_taken`: another server has its name. `diverged`: the mirror of its events in the fleet belongs to another log. `not_mirrored`: the server is a member, but its events cannot be mirrored. `unreachable`: NATS does not respond.',
    ),
  detail: z.string().optional().meta({
    description: 'Problem and its solution. Absent without a problem.',
  }),
});
export type FleetStatus = z.output<typeof fleetStatus>;

const sandboxStatus = component('SandboxStatus', 'The sandbox of child processes.', {
  mode: z.enum(['off', 'auto', 'require']).describe('Setting `sandbox.mode`.'),
  level: z
    .enum(['off', 'unknown', 'full', 'partial', 'none'])
    .describe(
      'Level of isolation. `off`: the configuration switches the sandbox off. `unknown`: the check after the start is running. `full`: files, processes and network are isolated. `partial`: one part is not isolated. `none`: the machine allows no sandbox.',
    ),
  detail: z.string().optional().meta({
    description: 'Reason for a level of `partial` or `none`, and a remedy. Otherwise absent.',
  }),
});
export type SandboxStatus = z.output<typeof sandboxStatus>;

export const health = component('Health', 'The health of the server and its parts.', {
  status: healthStatus.describe('`degraded` if at least one of `checks` is degraded.'),
  version: text('Version of the server.'),
  uptime_ms: integer('Time since the start of the server, in milliseconds.'),
  fleet: fleetStatus.optional().meta({
    description:
      'Fleet membership. The server keeps working in every state. Absent in older servers.',
  }),
  sandbox: sandboxStatus.optional().meta({
    description: 'Sandbox of child processes. Absent in older servers.',
  }),
  checks: z.looseObject({
    store: healthCheck.describe(
      'Whether there is space for new work, the disk syncs in time, and no damaged row was read since the start.',
    ),
    providers: healthCheck.describe(
      'Whether each enabled provider can start agents, and succeeded the last time it tried.',
    ),
    agents: healthCheck
      .optional()
      .describe('Whether turns get an agent within a minute. Absent in older servers.'),
    hooks: healthCheck
      .optional()
      .describe('Whether hooks receive their events. Present only if there are hooks.'),
  }),
});
export type Health = z.output<typeof health>;

const failedSession = failure
  .extend({ session_id: z.string() })
  .meta({ id: 'FailedSession', description: 'A session that failed, with the reason.' });

const lostEvents = component(
  'LostEvents',
  'Events stored before this start that are lost because the write-ahead log was damaged or removed. If the position file was damaged or removed, the newest events may be lost. The event log has a new epoch.',
  {
    after_seq: integer('Sequence number of the newest remaining event.'),
    up_to_seq: nullableInteger('Sequence number of the newest lost event. Null if unknown.'),
  },
);

const ids = (description: string) => z.array(z.string()).describe(description);

export const recoverySummary = component(
  'RecoverySummary',
  'The repairs of the startup recovery: ids by kind of repair.',
  {
    status: z.enum(['running', 'done']).meta({
      description: 'Status of the recovery. `running`: turns that continue have not started yet.',
    }),
    started_at: timestamp,
    ended_at: timestamp.nullable(),
    previous_stop: z.enum(['clean', 'unclean', 'none']).meta({
      description: 'End of the previous run. `none`: there was no previous run.',
    }),
    events_lost: lostEvents.nullable().optional().meta({
      description: 'Lost events. Null if none are lost. Absent in older servers.',
    }),
    sessions_failed: z
      .array(failedSession)
      .describe('Sessions that failed because their waiting turn could not continue.'),
    turn_pointers_cleared: ids('Sessions whose active_turn_id named a turn that had ended.'),
    turns_failed: ids('Turns that ended because the agent died with the server.'),
    turns_attached: z.array(z.string()).optional().meta({
      description:
        'Running turns that continue on the agents of the previous run (server.reattach_ms). Absent in older servers.',
    }),
    turns_reconciled: ids('Turns that start again.'),
    approvals_kept: ids('Approvals that are still pending.'),
    approvals_cancelled: ids('Approvals that nobody waits for any more.'),
    processes_failed: ids('Processes that ended because the server died.'),
    processes_attached: z.array(z.string()).optional().meta({
      description:
        'Processes with `outlive` that continue after the previous run. Absent in older servers.',
    }),
    orphans_killed: z
      .array(z.int())
      .describe('Process ids of children of the previous run that were killed.'),
    claims_released: ids('Worktrees whose claims of closed sessions were released.'),
    worktrees_missing: ids('Worktrees whose directory no longer exists.'),
    deliveries_retried: ids('Deliveries of team messages that are tried again.'),
  },
);
export type RecoverySummary = z.output<typeof recoverySummary>;

const distribution = component(
  'Distribution',
  'The distribution of a number over the last samples.',
  {
    count: z.int(),
    mean: z.number(),
    p50: z.number(),
    p99: z.number(),
    max: z.number(),
  },
);

const storageFigures = z.looseObject({
  latest_seq: integer('Sequence number (seq) of the newest event.'),
  database_bytes: integer('Size of the database file.'),
  free_bytes_in_database: integer(
    'Size of free pages, which new rows use before the database file grows.',
  ),
  wal_bytes: integer('Size of the write-ahead log.'),
  budget: z.looseObject({
    max_bytes: integer('Limit in bytes (`retention.max_bytes`). 0: no limit.'),
    used_bytes: integer('Size in bytes that retention compares with max_bytes.'),
  }),
  disk_free_bytes: integer('Free space of the file system that contains the data directory.'),
  min_free_bytes: integer(
    'Free space below which the server refuses new work (`retention.min_free_bytes`).',
  ),
});
export type StorageFigures = z.output<typeof storageFigures>;

export const storageDiagnostics = storageFigures
  .extend({
    counted_at: timestamp.describe(
      'Time at which the additional fields of this route were counted (Unix ms). At most a minute ago.',
    ),
    tables: z.array(
      component('StorageTable', 'The size of a table.', {
        name: z.string(),
        rows: z.int(),
        bytes: integer('Size of the texts in the rows of the table.'),
      }),
    ),
    blobs_bytes: integer('Size of stored images.'),
    logs_bytes: integer('Size of the stored output of processes.'),
    oldest_seq: nullableInteger('Sequence number (seq) of the oldest event. Null without events.'),
  })
  .meta({ id: 'StorageDiagnostics', description: 'The size of the store by part.' });
export type StorageDiagnostics = z.output<typeof storageDiagnostics>;

export const diagnostics = component('Diagnostics', 'Metrics of the server and its parts.', {
  health,
  recovery: recoverySummary,
  providers: z.array(providerDiagnostics),
  storage: storageFigures.extend({
    checkpoints: integer('Number of checkpoints of the write-ahead log since the start.'),
    group_size: distribution.describe(
      'Transactions per group commit. A group commit needs one fsync.',
    ),
    sync_us: distribution.describe('Duration of an fsync of the log, in microseconds.'),
  }),
  streams: z.looseObject({
    followers: integer('Number of open event streams.'),
    waiting: integer('Number of event streams that have sent all events and wait for new ones.'),
    max_lag: integer('Largest number of events that an event stream is behind the log.'),
  }),
  processes: processDiagnostics,
  worktrees: worktreeDiagnostics,
  comms: commsDiagnostics,
  queue: queueDiagnostics.optional().describe('State of the queues. Absent in older servers.'),
  agents: z
    .looseObject({
      live: integer('Number of running agents.'),
      max: integer('Maximum number of running agents (`providers.max_live`).'),
      waiting: z
        .array(
          z.looseObject({
            session_id: z.string(),
            waited_ms: integer('Time since the turn waits, in milliseconds.'),
            reason: text('Limit that is reached, and the sessions that use it up.'),
          }),
        )
        .describe('Sessions whose turn waits for an agent, longest wait first.'),
    })
    .optional()
    .describe('State of the agents. Absent in older servers.'),
  children: z.looseObject({
    live: integer('Number of running child processes.'),
    keeper_pid: nullableInteger(
      'Id of the process that kills all child processes if the server dies. Null until the first child process starts.',
    ),
    shim_pid: nullableInteger(
      'Id of the process that holds the pipes of agents that may outlive the server. Null if there is none. Absent in older servers.',
    ).optional(),
    out_of_reach: integer(
      "Number of processes of other users in cadre's process groups that could not be killed since the start.",
    ),
  }),
  event_loop: z.looseObject({
    delay_us: distribution.describe('Delay of the event loop, in microseconds.'),
  }),
  memory: z.looseObject({
    rss_bytes: integer('Memory of the server process (resident set size).'),
    heap_used_bytes: integer('Used part of the JavaScript heap.'),
  }),
});
export type Diagnostics = z.output<typeof diagnostics>;

export const getPublicHealth = endpoint('GET /health', {
  summary: 'Check whether the server is running',
  access: 'public',
  response: z.looseObject({ status: healthStatus }),
});

export const getOpenApi = endpoint('GET /openapi.yaml', {
  summary: 'Get this API description',
  access: 'public',
  answers: 'text',
  response: z.string().meta({ contentType: 'application/yaml', isObject: true }),
});

export const getHealth = endpoint('GET /v1/health', {
  summary:
    'Get the health of the server and its parts; the HTTP status is 200 even if it is degraded',
  response: health,
});

export const getVersion = endpoint('GET /v1/version', {
  summary: 'Get the version of the server and its data',
  response: z.looseObject({
    name: z.literal('cadre'),
    version: z.string(),
    api_version: z.literal('v1'),
    epoch: text('Id of the event log. It changes when the log is replaced.'),
    node: text('Version of Node in the server.'),
    commit: text('Git commit that the server was built from.'),
  }),
});

export const getDiagnostics = endpoint('GET /v1/diagnostics', {
  summary: 'Get metrics of the server and its parts as JSON',
  response: diagnostics,
});

export const getRecovery = endpoint('GET /v1/diagnostics/recovery', {
  summary: 'Get the repairs of the startup recovery',
  response: recoverySummary,
});

export const getStorageDiagnostics = endpoint('GET /v1/diagnostics/storage', {
  summary: 'Get the size of the store by part',
  response: storageDiagnostics,
});

export const backUpStorage = endpoint('POST /v1/storage/backup', {
  summary:
    'Download a backup of the store, which can be events.cadre of a new data directory; accepts no Idempotency-Key',
  answers: 'bytes',
  secret: true,
  response: z.instanceof(Uint8Array),
  errors: ['conflict'],
});

export const getMetrics = endpoint('GET /metrics', {
  summary: 'Get metrics of the server in the Prometheus format',
  answers: 'text',
  response: z.string().meta({ contentType: 'text/plain' }),
});
