import type { NatsConnection } from '@nats-io/transport-node';
import { jetstreamManager } from '@nats-io/jetstream';
import { explaining } from './engine-error.ts';
import { isName, type Names } from './names.ts';

/** What the engine of a fleet says of itself, and of the fleet's stream. */
export interface EngineStatus {
  /** The name of the NATS server that answers. */
  server: string;
  version: string;
  /** A round trip to it, in milliseconds. */
  rtt_ms: number;
  /** The most bytes of a request or an answer. */
  max_payload: number;
  stream: {
    messages: number;
    bytes: number;
    /** At this size the oldest events leave the stream. */
    max_bytes: number;
    replicas: number;
    /** The server that leads the stream; null: it has no leader just now, or is not in a cluster. */
    leader: string | null;
    /** Replicas that do not follow just now. */
    behind: string[];
  };
}

/** Asks the engine. Throws `not_found` where the fleet was not made yet. */
export async function engineStatus(
  connection: NatsConnection,
  names: Names,
): Promise<EngineStatus> {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const info = await explaining(connection, names, () => manager.streams.info(names.events));
  const { config, state, cluster } = info;
  const replicas = cluster?.replicas ?? [];
  return {
    server: connection.info?.server_name ?? '',
    version: connection.info?.version ?? '',
    rtt_ms: await connection.rtt(),
    max_payload: connection.info?.max_payload ?? 0,
    stream: {
      messages: state.messages,
      bytes: state.bytes,
      max_bytes: config.max_bytes,
      replicas: config.num_replicas,
      leader: cluster?.leader ?? null,
      behind: replicas.filter(({ current }) => !current).map(({ name }) => name),
    },
  };
}

/**
 * The nodes that have events in the stream, by name: also those that are not alive. Throws `not_found` where the fleet was
 * not made yet.
 */
export async function nodesInStream(connection: NatsConnection, names: Names): Promise<string[]> {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const asked = { subjects_filter: names.allEvents };
  const { state } = await explaining(connection, names, () =>
    manager.streams.info(names.events, asked),
  );
  const nodes = Object.keys(state.subjects ?? {}).map((subject) => subject.split('.')[3] ?? '');
  return [...new Set(nodes)].filter(isName).toSorted((one, other) => (one < other ? -1 : 1));
}
