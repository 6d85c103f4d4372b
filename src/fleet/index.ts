// What the rest of the program loads of a fleet, by import(): a bundle of its own, so that nobody else pays for it.
export { connectTo } from './connection.ts';
export { type EngineStatus, engineStatus } from './engine-status.ts';
export { type FleetNode, fleetNodes } from './fleet-nodes.ts';
export { initFleet } from './init.ts';
export { publicKeyIn } from './key-files.ts';
export { Member } from './member.ts';
export { mirrorTask } from './mirror-task.ts';
export { namesOf } from './names.ts';
export { ADMIN } from './key-names.ts';
export { natsConfig } from './nats-config.ts';
export { patiently } from './patiently.ts';
export { replaceNode } from './replace-node.ts';
export { FleetServers } from './servers.ts';
