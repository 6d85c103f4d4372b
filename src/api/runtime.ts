import { z } from 'zod';
import { failure, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { processDiagnostics } from './processes.ts';
import { providerDiagnostics } from './providers.ts';
import { queueDiagnostics } from './queue.ts';
import { worktreeDiagnostics } from './worktrees.ts';
import { commsDiagnostics } from './team-view.ts';

const healthStatus = z.enum(['ok', 'degraded']);

const healthCheck = z
  .looseObject({
    status: healthStatus,
    detail: z
      .string()
      .optional()
      .describe('What is wrong, and what to do about it. Only where the status is not `ok`.'),
  })
  .meta({ id: 'HealthCheck', description: 'How one part of the server is.' });

const fleetStatus = z
  .looseObject({
    state: z
      .enum(['off', 'joining', 'member', 'name_taken', 'diverged', 'not_mirrored', 'unreachable'])
      .describe(
        'off: configured for none. joining: not a member since the start. member: it is one. name_taken: another server has its name. diverged: the copy of its events in the fleet is of another log. not_mirrored: it is a member, and its events cannot be copied to the fleet. unreachable: NATS does not answer just now.',
      ),
    detail: z
      .string()
      .optional()
      .describe('What is wrong, and what to do about it. Only where something is.'),
  })
  .meta({ id: 'FleetStatus', description: 'What the server is in its fleet.' });
export type FleetStatus = z.output<typeof fleetStatus>;

export const health = z
  .looseObject({
    status: healthStatus,
    version: z.string(),
    uptime_ms: z.int(),
    fleet: fleetStatus
      .optional()
      .describe('Work on this server goes on in every state. Older servers have no such field.'),
    checks: z.looseObject({
      store: healthCheck.describe(
        'Whether there is room for new work, the disk syncs in time, and no damaged row was read since the start.',
      ),
      providers: healthCheck.describe(
        'Whether each enabled provider can start agents, and could when it last tried.',
      ),
      agents: healthCheck
        .optional()
        .describe('Whether turns get an agent within a minute. Older servers have no such field.'),
      hooks: healthCheck
        .optional()
        .describe('Whether hooks are given their events. Only where there are hooks.'),
    }),
  })
  .meta({
    id: 'Health',
    description: 'The health of the server and its parts.',
  });
export type Health = z.output<typeof health>;

const failedSession = failure
  .extend({ session_id: z.string() })
  .meta({ id: 'FailedSession', description: 'A session that failed, and why.' });

const lostEvents = z
  .looseObject({
    after_seq: z.int().describe('Sequence number of the newest event that is left.'),
    up_to_seq: z.int().describe('Sequence number of the newest event that was lost.'),
  })
  .meta({
    id: 'LostEvents',
    description:
      'Events that were stored before this start and are gone, because the write-ahead log was damaged or removed. The ' +
      'event log has a new epoch.',
  });

export const recoverySummary = z
  .looseObject({
    status: z.enum(['running', 'done']),
    started_at: timestamp,
    ended_at: timestamp.nullable(),
    previous_stop: z.enum(['clean', 'unclean', 'none']),
    events_lost: lostEvents
      .nullable()
      .optional()
      .describe('Null if no events are lost. Older servers have no such field.'),
    sessions_failed: z.array(failedSession),
    turn_pointers_cleared: z.array(z.string()),
    turns_failed: z.array(z.string()),
    turns_reconciled: z.array(z.string()),
    approvals_kept: z.array(z.string()),
    approvals_cancelled: z.array(z.string()),
    processes_failed: z.array(z.string()),
    orphans_killed: z.array(z.int()),
    claims_released: z.array(z.string()),
    worktrees_missing: z.array(z.string()),
    deliveries_retried: z.array(z.string()),
  })
  .meta({
    id: 'RecoverySummary',
    description: 'What startup recovery found and repaired: ids, by the kind of repair.',
  });
export type RecoverySummary = z.output<typeof recoverySummary>;

const spread = z
  .looseObject({
    count: z.int(),
    mean: z.number(),
    p50: z.number(),
    p99: z.number(),
    max: z.number(),
  })
  .meta({
    id: 'Spread',
    description: 'The distribution of a number over the last samples.',
  });

const storageFigures = z.looseObject({
  latest_seq: z.int(),
  database_bytes: z.int(),
  free_bytes_in_database: z
    .int()
    .describe('Free pages, which new rows fill before the database file grows.'),
  wal_bytes: z.int(),
  budget: z.looseObject({
    max_bytes: z.int().describe('retention.max_bytes; 0: no limit.'),
    used_bytes: z.int().describe('The size that retention compares with max_bytes.'),
  }),
  disk_free_bytes: z.int(),
  min_free_bytes: z.int().describe('retention.min_free_bytes.'),
});
export type StorageFigures = z.output<typeof storageFigures>;

export const storageDiagnostics = storageFigures
  .extend({
    counted_at: timestamp.describe(
      'When the fields of this route alone were counted: at most a minute ago.',
    ),
    tables: z.array(
      z
        .looseObject({
          name: z.string(),
          rows: z.int(),
          bytes: z.int().describe('The size of the texts in its rows.'),
        })
        .meta({ id: 'StorageTable', description: 'The size of one table.' }),
    ),
    blobs_bytes: z.int(),
    logs_bytes: z.int(),
    oldest_seq: z.int().nullable(),
  })
  .meta({ id: 'StorageDiagnostics', description: 'The size of the store, by part.' });
export type StorageDiagnostics = z.output<typeof storageDiagnostics>;

export const diagnostics = z
  .looseObject({
    health,
    recovery: recoverySummary,
    providers: z.array(providerDiagnostics),
    storage: storageFigures.extend({
      checkpoints: z.int(),
      group_size: spread.describe('Transactions per group commit, which shares one fsync.'),
      sync_us: spread.describe('The duration of an fsync of the log, in microseconds.'),
    }),
    streams: z.looseObject({ followers: z.int(), waiting: z.int(), max_lag: z.int() }),
    processes: processDiagnostics,
    worktrees: worktreeDiagnostics,
    comms: commsDiagnostics,
    queue: queueDiagnostics.optional().describe('Older servers have no such field.'),
    agents: z
      .looseObject({
        live: z.int().describe('Number of live agents.'),
        max: z.int().describe('Maximum number of live agents (`providers.max_live`).'),
        waiting: z
          .array(
            z.looseObject({
              session_id: z.string(),
              waited_ms: z.int(),
              reason: z
                .string()
                .describe('The limit that is reached, and the sessions that hold it.'),
            }),
          )
          .describe(
            'Sessions whose turn waits for an agent, the one that has waited longest first.',
          ),
      })
      .optional()
      .describe('Older servers have no such field.'),
    children: z.looseObject({
      live: z.int(),
      keeper_pid: z
        .int()
        .nullable()
        .describe(
          'The process that kills every child if the server dies. It starts with the first child; null before.',
        ),
      out_of_reach: z
        .int()
        .describe(
          'Processes of another user in our process groups that could not be killed, since the start.',
        ),
    }),
    event_loop: z.looseObject({ delay_us: spread }),
    memory: z.looseObject({ rss_bytes: z.int(), heap_used_bytes: z.int() }),
  })
  .meta({
    id: 'Diagnostics',
    description: 'Metrics of the server and its parts.',
  });
export type Diagnostics = z.output<typeof diagnostics>;

export const getPublicHealth = endpoint({
  method: 'GET',
  path: '/health',
  summary: 'Whether the server runs',
  access: 'public',
  response: z.looseObject({ status: healthStatus }),
});

export const getOpenApi = endpoint({
  method: 'GET',
  path: '/openapi.yaml',
  summary: 'This API description',
  access: 'public',
  answers: 'text',
  response: z.string().meta({ contentType: 'application/yaml', isObject: true }),
});

export const getHealth = endpoint({
  method: 'GET',
  path: '/v1/health',
  summary: 'Health of the server and its parts; 200 also when degraded',
  response: health,
});

export const getVersion = endpoint({
  method: 'GET',
  path: '/v1/version',
  summary: 'Version of the server and of its data',
  response: z.looseObject({
    name: z.literal('cadre'),
    version: z.string(),
    api_version: z.literal('v1'),
    epoch: z.string().describe('Identifies the event log; changes when the log is replaced.'),
    node: z.string(),
    commit: z.string(),
  }),
});

export const getDiagnostics = endpoint({
  method: 'GET',
  path: '/v1/diagnostics',
  summary: 'Metrics of the server and its parts, as JSON',
  response: diagnostics,
});

export const getRecovery = endpoint({
  method: 'GET',
  path: '/v1/diagnostics/recovery',
  summary: 'What startup recovery found and repaired',
  response: recoverySummary,
});

export const getStorageDiagnostics = endpoint({
  method: 'GET',
  path: '/v1/diagnostics/storage',
  summary: 'The size of the store, by part',
  response: storageDiagnostics,
});

export const backUpStorage = endpoint({
  method: 'POST',
  path: '/v1/storage/backup',
  summary:
    'Download a copy of the store, to be the events.cadre of a new data directory; accepts no Idempotency-Key',
  answers: 'bytes',
  secret: true,
  response: z.instanceof(Uint8Array),
  errors: ['conflict'],
});

export const getMetrics = endpoint({
  method: 'GET',
  path: '/metrics',
  summary: 'Metrics of the server, for Prometheus',
  answers: 'text',
  response: z.string().meta({ contentType: 'text/plain' }),
});
