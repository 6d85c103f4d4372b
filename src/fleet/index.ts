// What the rest of the program loads of a fleet, by import(): a bundle of its own, so that nobody else pays for it.
export { connectTo } from './connection.ts';
export { initFleet } from './init.ts';
export { Member } from './member.ts';
export { mirrorTask } from './mirror-task.ts';
