import { DiscardPolicy, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { errors, type NatsConnection } from '@nats-io/transport-node';
import { AppError } from '../errors.ts';
import { namesOf, PLACE_TTL_MS } from './names.ts';

/** How the fleet's stream and buckets are kept. */
export interface StoreSettings {
  /** The number of NATS servers that keep a copy: 1 or 3. */
  replicas: number;
  /** The size of the stream in bytes, at which its oldest events leave it. */
  maxBytes: number;
  /** The identity of the stream: a cursor is valid for one stream alone. */
  streamId: string;
}

/** How long the end of a sign of life is kept as a marker, in milliseconds, for those who watch. */
const MARKER_MS = 60_000;
const NANOSECONDS = 1_000_000;

/**
 * Makes the stream of events and the buckets of a fleet. What is there already stays as it is, so it may run again. The
 * permissions of a node do not suffice for it. Returns the names of what it made. Throws `forbidden_scope` where the key
 * that was used may not make it.
 */
export async function initFleet(
  connection: NatsConnection,
  fleet: string,
  settings: StoreSettings,
): Promise<string[]> {
  try {
    return await make(connection, fleet, settings);
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    if (!(cause instanceof errors.PermissionViolationError)) throw error;
    throw new AppError(
      'forbidden_scope',
      'NATS does not let this key make the fleet: give the one of the admin with --credentials',
      { cause: error },
    );
  }
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
    { ...bucket(names.places), max_age: PLACE_TTL_MS * NANOSECONDS },
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
