// The bundle of the fleet: the rest of the program loads it by import(), so that only members and clients of a fleet
// load NATS.
export { connectTo } from './connection.ts';
export { retryWhileUnavailable } from './nats-api.ts';
export { initFleet } from './init.ts';
export { ADMIN, publicKeyIn } from './keys.ts';
export { Member } from './member.ts';
export { mirrorTask } from './mirror.ts';
export { namesOf } from './names.ts';
export { natsConfig } from './nats-config.ts';
export { replaceNode } from './replace-node.ts';
export { FleetServers } from './servers.ts';
export { type NatsStatus, natsStatus, type FleetNode, fleetNodes } from './status.ts';
