import {
  DiscardPolicy,
  JetStreamApiError,
  jetstreamManager,
  StorageType,
} from '@nats-io/jetstream';
import { errors, type NatsConnection } from '@nats-io/transport-node';
import { AppError } from '../api/errors.ts';
import { isError } from './nats-api.ts';
import { namesOf, PLACEMENT_TTL_MS } from './names.ts';

/** How the fleet's stream and buckets are kept. */
export interface StoreSettings {
  /** The number of NATS servers that keep a copy: 1 or 3. */
  replicas: number;
  /** The size of the stream in bytes, at which its oldest events leave it. */
  maxBytes: number;
  /** The identity of the stream: a cursor is valid for one stream alone. */
  streamId: string;
}

/** The lifetime of the marker of an expired heartbeat, in milliseconds. */
const MARKER_MS = 60_000;
const NANOSECONDS = 1_000_000;

/**
 * Creates the stream of events and the buckets of a fleet, and returns the names of the new ones. Existing ones stay
 * unchanged, so that it may run again. Needs the admin key. Throws `forbidden_scope` if the key lacks the right,
 * `invalid` if NATS cannot store the fleet, and `unreachable` if NATS does not answer.
 */
export async function initFleet(
  connection: NatsConnection,
  fleet: string,
  settings: StoreSettings,
): Promise<string[]> {
  try {
    return await make(connection, fleet, settings);
  } catch (error) {
    throw whyNotMade(error, settings);
  }
}

/** The numbers by which NATS says that it lacks room, or servers. */
const NO_ROOM: ReadonlySet<number> = new Set([10_023, 10_028, 10_047]);
const NO_SERVERS: ReadonlySet<number> = new Set([10_005, 10_074]);

function whyNotMade(error: unknown, { replicas, maxBytes }: StoreSettings): unknown {
  const refusal = (code: 'forbidden_scope' | 'invalid' | 'unreachable', message: string) =>
    new AppError(code, message, { cause: error });
  if (isError(error, errors.PermissionViolationError))
    return refusal(
      'forbidden_scope',
      'cannot create the fleet: NATS refused this key: pass the admin key with --credentials',
    );
  // The library does not export its class.
  if (error instanceof Error && error.name === 'JetStreamNotEnabled')
    return refusal(
      'invalid',
      'cannot create the fleet: JetStream is off: add jetstream { store_dir: "…" } to the NATS configuration',
    );
  if (isError(error, errors.TimeoutError))
    return refusal(
      'unreachable',
      'cannot create the fleet: no answer from NATS: check the log of nats-server and try again',
    );
  if (!(error instanceof JetStreamApiError)) return error;
  if (NO_ROOM.has(error.code))
    return refusal(
      'invalid',
      `cannot create the fleet: NATS has no space for ${maxBytes} bytes of events: pass a smaller --max-bytes, or raise max_file_store of nats-server`,
    );
  if (NO_SERVERS.has(error.code))
    return refusal(
      'invalid',
      `cannot create the fleet: too few NATS servers for ${replicas} replicas: start more, or pass --replicas 1`,
    );
  return refusal('invalid', `cannot create the fleet: ${error.message}`);
}

async function make(
  connection: NatsConnection,
  fleet: string,
  { replicas, maxBytes, streamId }: StoreSettings,
): Promise<string[]> {
  const names = namesOf(fleet);
  const manager = await jetstreamManager(connection);
  const kept = { num_replicas: replicas, storage: StorageType.File, allow_direct: true };
  const bucket = (name: string) => ({
    ...kept,
    name: names.bucketStream(name),
    subjects: [names.key(name, '>')],
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.New,
    deny_delete: true,
    allow_rollup_hdrs: true,
    allow_msg_ttl: true,
    subject_delete_marker_ttl: MARKER_MS * NANOSECONDS,
  });
  const streams = [
    {
      ...kept,
      name: names.events,
      subjects: [names.allEvents],
      max_bytes: maxBytes,
      discard: DiscardPolicy.Old,
      allow_atomic: true,
      allow_msg_ttl: true,
      deny_delete: true,
      republish: { src: names.allEvents, dest: names.newsOf(names.allEvents), headers_only: true },
      metadata: { cadre_stream: streamId },
    },
    bucket(names.nodes),
    { ...bucket(names.placements), max_age: PLACEMENT_TTL_MS * NANOSECONDS },
  ];
  const made: string[] = [];
  for (const stream of streams) {
    const isThere = await manager.streams.info(stream.name).catch(() => null);
    if (isThere) continue;
    await manager.streams.add(stream);
    made.push(stream.name);
  }
  return made;
}
