import type { NatsConnection } from '@nats-io/transport-node';
import { jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { NatsApi } from './nats-api.ts';
import { isName, type Names } from './names.ts';
import { Bucket } from './bucket.ts';
import { livingNodes, nodeHeartbeat, type NodeHeartbeat } from './heartbeat.ts';

export type NatsStatus = Awaited<ReturnType<typeof natsStatus>>;

/** The state of a NATS server and of the stream of a fleet. Throws `not_found` if the fleet does not exist. */
export async function natsStatus(connection: NatsConnection, names: Names) {
  const { config, state, cluster } = await infoOf(connection, names);
  const replicas = cluster?.replicas ?? [];
  return {
    server: connection.info?.server_name ?? '',
    version: connection.info?.version ?? '',
    rtt_ms: await connection.rtt(),
    /** The most bytes of a request or an answer. */
    max_payload: connection.info?.max_payload ?? 0,
    stream: {
      messages: state.messages,
      bytes: state.bytes,
      /** At this size the oldest events leave the stream. */
      max_bytes: config.max_bytes,
      replicas: config.num_replicas,
      /** Null if the stream has no leader now, or NATS runs without a cluster. */
      leader: cluster?.leader ?? null,
      /** Replicas that are not up to date. */
      behind: replicas.filter(({ current }) => !current).map(({ name }) => name),
    },
  };
}

/** The names of all nodes with events in the stream, alive or not. Throws `not_found` if the fleet does not exist. */
async function nodesInStream(connection: NatsConnection, names: Names): Promise<string[]> {
  const { state } = await infoOf(connection, names, { subjects_filter: names.allEvents });
  const nodes = Object.keys(state.subjects ?? {}).map((subject) => subject.split('.')[3] ?? '');
  return nodes.filter(isName);
}

async function infoOf(
  connection: NatsConnection,
  names: Names,
  options?: { subjects_filter: string },
): Promise<StreamInfo> {
  const { streams } = await jetstreamManager(connection, { checkAPI: false });
  const engine = new NatsApi(connection, names);
  return engine.explaining(() => streams.info(names.events, options));
}

/** A node of a fleet. Only its name is known if it has no heartbeat. */
export type FleetNode = { node: string; state: 'alive' | 'unreachable' } & {
  [Field in Exclude<keyof NodeHeartbeat, 'node'>]: NodeHeartbeat[Field] | null;
};

/** Every node that is alive, or has events in the fleet, by name. */
export async function fleetNodes(connection: NatsConnection, names: Names): Promise<FleetNode[]> {
  const [living, known] = await Promise.all([
    livingNodes(new Bucket(connection, names, names.nodes)),
    nodesInStream(connection, names),
  ]);
  const heartbeats = new Map(living.map((heartbeat) => [heartbeat.node, heartbeat]));
  const all = [...new Set([...heartbeats.keys(), ...known])].toSorted();
  return all.map((node) => {
    const heartbeat = heartbeats.get(node);
    return heartbeat
      ? { ...heartbeat, node, state: 'alive' }
      : { ...NOTHING, node, state: 'unreachable' };
  });
}

const NOTHING = Object.fromEntries(
  nodeHeartbeat.keyof().options.map((field) => [field, null]),
) as Record<keyof NodeHeartbeat, null>;
