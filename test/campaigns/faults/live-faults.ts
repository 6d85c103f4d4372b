import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import { type Identity, identify, isAlive } from '../../../src/core/children/identity.ts';
import { scaled } from '../../support/patience.ts';
import { limit, openFilesOf } from '../../support/processes/limits.ts';
import type { Random } from '../crash/random.ts';
import type { Condition, Conditions } from './conditions.ts';
import type { Disk } from './disk.ts';
import type { ServerRun } from './server-run.ts';
import {
  addressSpaceOf,
  agentsOf,
  type CampaignClock,
  largestFileIn,
  processesOf,
  sendSignal,
} from './machine.ts';

const NEW_KEEPER_MS = 5000;
/** Time that a kill waits for a process that it can kill. */
const KILL_WAIT_MS = 3000;
const MINUTE_MS = 60_000;

/** The surroundings of a fault. */
export interface Target {
  serverRun: ServerRun;
  random: Random;
  conditions: Conditions;
  clock: CampaignClock;
  /** Null if no disk can be mounted. */
  disk: Disk | null;
  /** Counts a kill. */
  killed: (what: string) => void;
}

/** A fault that a server survives, unless its memory is limited. Resolves when it is over. */
export type LiveFault = (target: Target) => Promise<void>;

/** The faults, by name. A fault that is listed for the disk needs one. */
export const liveFaults: Record<string, LiveFault> = {
  'kill of agents': (target) => killSome(target, 'agent', agentsOf),
  'kill of processes': (target) => killSome(target, 'process', processesOf),
  'kill of the keeper': killKeeper,
  'stop of the server': (target) =>
    during(target, 'stopped server', 1500, () => {
      target.serverRun.signal('SIGSTOP');
      return () => target.serverRun.signal('SIGCONT');
    }),
  'stop of agents': stopAgents,
  'jump of the clock': async ({ clock, random }) => {
    clock.jump(random.between(-180, 180) * MINUTE_MS);
  },
  'full disk': fillDisk,
  'file size limit': (target) =>
    during(target, 'file size limit', 1500, () =>
      limit(target.serverRun.server.pid, 'fsize', largestFileIn(directoryOf(target))),
    ),
  'few descriptors': (target) =>
    during(target, 'few descriptors', 1500, () => {
      const { pid } = target.serverRun.server;
      return limit(pid, 'nofile', openFilesOf(pid) + target.random.between(0, 4));
    }),
  'little address space': async (target) => {
    target.serverRun.mayEnd = true;
    await during(target, 'little memory', 1000, () => {
      const { pid } = target.serverRun.server;
      return limit(pid, 'as', addressSpaceOf(pid) + target.random.between(0, 32) * 1024 * 1024);
    });
  },
};

/** Runs a fault, and checks that the server responds afterwards. */
export async function injectFault(name: string, target: Target): Promise<void> {
  const { serverRun } = target;
  await liveFaults[name]?.(target);
  if (serverRun.isOver) return;
  await Promise.race([serverRun.server.exited, checkResponds(serverRun, name)]);
}

/** A server answers soon after each fault. */
async function checkResponds(serverRun: ServerRun, fault: string): Promise<void> {
  const late = pause(scaled(20_000), 'late', { ref: false });
  const asked = serverRun.server.client
    .call(endpoints.getHealth, {})
    .catch(() => 'silent' as const);
  if ((await Promise.race([asked, late])) === 'late')
    throw new Error(`after "${fault}", the server does not respond`);
}

const directoryOf = ({ serverRun }: Target) => serverRun.server.directory;

/** Holds a condition for a random time. */
async function during(
  { serverRun, conditions, random }: Target,
  condition: Condition,
  mostMs: number,
  begin: () => () => void,
): Promise<void> {
  if (condition !== 'stopped server') serverRun.mayLogErrors = true;
  conditions.begin(condition);
  let end: (() => void) | undefined;
  try {
    end = begin();
    await Promise.race([pause(random.between(100, mostMs)), serverRun.server.exited]);
  } catch (error) {
    if (!serverRun.isOver && identify(serverRun.server.pid)) throw error;
  } finally {
    end?.();
    conditions.end(condition);
  }
}

async function fillDisk(target: Target): Promise<void> {
  const { disk, random } = target;
  if (!disk) return;
  await during(target, 'full disk', 2000, () => {
    disk.fill(random.pick([0, 0, 4, 64, 256]));
    return () => disk.free();
  });
}

/** Kills one or all of them, as soon as there are any. */
async function killSome(
  { serverRun, random, killed }: Target,
  what: string,
  find: (directory: string) => number[],
): Promise<void> {
  const isAll = random.chance(0.4);
  let pids = find(serverRun.server.directory);
  for (const deadline = performance.now() + KILL_WAIT_MS; pids.length === 0;) {
    if (serverRun.isOver || performance.now() > deadline) return;
    await pause(100);
    pids = find(serverRun.server.directory);
  }
  const chosen = isAll ? pids : [random.pick(pids)];
  for (const pid of chosen) if (sendSignal(pid, 'SIGKILL')) killed(what);
}

/** The server replaces a keeper that was killed, and the new one gets the list of all groups. */
async function killKeeper({ serverRun, killed, conditions }: Target): Promise<void> {
  const before = await keeperOf(serverRun);
  if (!before || !sendSignal(before.pid, 'SIGKILL')) return;
  killed('keeper');
  serverRun.isClean = false;
  for (const deadline = performance.now() + scaled(NEW_KEEPER_MS); ; await pause(20)) {
    const now = await keeperOf(serverRun);
    if (serverRun.isOver) return;
    if (now && now.pid !== before.pid && isAlive(now)) break;
    if (performance.now() <= deadline) continue;
    // Under a condition that lasts, no process can start.
    if (conditions.since(performance.now()).length > 0) return;
    throw new Error('the server has not replaced its keeper');
  }
  serverRun.isClean = true;
}

async function keeperOf(serverRun: ServerRun): Promise<Identity | undefined> {
  const pid = await serverRun.noteKeeper().catch(() => null);
  return pid === null ? undefined : identify(pid);
}

async function stopAgents({ serverRun, random }: Target): Promise<void> {
  const agents = agentsOf(serverRun.server.directory);
  const stopped = agents.filter((pid) => random.chance(0.5) && sendSignal(pid, 'SIGSTOP'));
  await Promise.race([pause(random.between(100, 1500)), serverRun.server.exited]);
  // Some stay stopped, so that the server or its keeper has to end them.
  for (const pid of stopped) if (!serverRun.isOver) sendSignal(pid, 'SIGCONT');
}
