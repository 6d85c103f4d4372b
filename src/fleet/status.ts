import type { NatsConnection } from '@nats-io/transport-node';
import { jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { Engine } from './engine.ts';
import { isName, type Names } from './names.ts';
import { Bucket } from './bucket.ts';
import { livingNodes, type NodeHeartbeat } from './heartbeat.ts';

/** The state of a NATS server and of the stream of a fleet. */
export interface EngineStatus {
  server: string;
  version: string;
  rtt_ms: number;
  /** The most bytes of a request or an answer. */
  max_payload: number;
  stream: {
    messages: number;
    bytes: number;
    /** At this size the oldest events leave the stream. */
    max_bytes: number;
    replicas: number;
    /** Server that leads the stream. Null if the stream has no leader now, or NATS runs without a cluster. */
    leader: string | null;
    /** Replicas that are not up to date. */
    behind: string[];
  };
}

/** Throws `not_found` if the fleet does not exist. */
export async function engineStatus(
  connection: NatsConnection,
  names: Names,
): Promise<EngineStatus> {
  const { config, state, cluster } = await infoOf(connection, names);
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

/** The names of all nodes with events in the stream, alive or not. Throws `not_found` if the fleet does not exist. */
async function nodesInStream(connection: NatsConnection, names: Names): Promise<string[]> {
  const { state } = await infoOf(connection, names, { subjects_filter: names.allEvents });
  const nodes = Object.keys(state.subjects ?? {}).map((subject) => subject.split('.')[3] ?? '');
  return [...new Set(nodes)].filter(isName).toSorted((one, other) => (one < other ? -1 : 1));
}

async function infoOf(
  connection: NatsConnection,
  names: Names,
  options?: { subjects_filter: string },
): Promise<StreamInfo> {
  const { streams } = await jetstreamManager(connection, { checkAPI: false });
  const engine = new Engine(connection, names);
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
  const signs = new Map(living.map((sign) => [sign.node, sign]));
  const all = [...new Set([...signs.keys(), ...known])].toSorted((one, other) =>
    one < other ? -1 : 1,
  );
  return all.map((node) => {
    const sign = signs.get(node);
    return sign ? { ...sign, node, state: 'alive' } : { ...NOTHING, node, state: 'unreachable' };
  });
}

const NOTHING = {
  instance: null,
  epoch: null,
  machine: null,
  version: null,
  labels: null,
  live: null,
  max_live: null,
  mirror: null,
  detail: null,
};
