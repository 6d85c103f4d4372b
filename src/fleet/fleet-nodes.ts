import type { NatsConnection } from '@nats-io/transport-node';
import { Bucket } from './bucket.ts';
import { nodesInStream } from './engine-status.ts';
import type { Names } from './names.ts';
import { livingNodes, type NodeHeartbeat } from './heartbeat.ts';

/** A node of a fleet: what it says of itself, or of one that gives no sign of life, nothing but its name. */
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
