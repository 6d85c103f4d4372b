import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import { type Identity, identify, isAlive } from '../../../src/core/children/identity.ts';
import { scaled } from '../../support/patience.ts';
import { limit, openFilesOf } from '../../support/processes/limits.ts';
import type { Random } from '../crash/random.ts';
import type { Condition, Conditions } from './conditions.ts';
import type { Disk } from './disk.ts';
import type { Life } from './server-run.ts';
import {
  addressSpaceOf,
  agentsOf,
  type CampaignClock,
  largestFileIn,
  processesOf,
  strike,
} from './machine.ts';

const NEW_KEEPER_MS = 5000;
/** Time that a kill waits for a process that it can kill. */
const VICTIM_MS = 3000;
const MINUTE_MS = 60_000;

/** The surroundings of a fault. */
export interface Target {
  life: Life;
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
      target.life.signal('SIGSTOP');
      return () => target.life.signal('SIGCONT');
    }),
  'stop of agents': stopAgents,
  'jump of the clock': async ({ clock, random }) => {
    clock.jump(random.between(-180, 180) * MINUTE_MS);
  },
  'full disk': fillDisk,
  'file size limit': (target) =>
    during(target, 'file size limit', 1500, () =>
      limit(target.life.server.pid, 'fsize', largestFileIn(directoryOf(target))),
    ),
  'few descriptors': (target) =>
    during(target, 'few descriptors', 1500, () => {
      const { pid } = target.life.server;
      return limit(pid, 'nofile', openFilesOf(pid) + target.random.between(0, 4));
    }),
  'little address space': async (target) => {
    target.life.mayEnd = true;
    await during(target, 'little memory', 1000, () => {
      const { pid } = target.life.server;
      return limit(pid, 'as', addressSpaceOf(pid) + target.random.between(0, 32) * 1024 * 1024);
    });
  },
};

/** Runs a fault, and checks that the server responds afterwards. */
export async function inflict(name: string, target: Target): Promise<void> {
  const { life } = target;
  await liveFaults[name]?.(target);
  if (life.isOver) return;
  await Promise.race([life.server.exited, proveService(life, name)]);
}

/** A server answers soon after each fault. */
async function proveService(life: Life, fault: string): Promise<void> {
  const late = pause(scaled(20_000), 'late', { ref: false });
  const asked = life.server.client.call(endpoints.getHealth, {}).catch(() => 'silent' as const);
  if ((await Promise.race([asked, late])) === 'late')
    throw new Error(`after "${fault}", the server does not respond`);
}

const directoryOf = ({ life }: Target) => life.server.directory;

/** Holds a condition for a random time. */
async function during(
  { life, conditions, random }: Target,
  condition: Condition,
  mostMs: number,
  begin: () => () => void,
): Promise<void> {
  if (condition !== 'stopped server') life.mayLogErrors = true;
  conditions.begin(condition);
  let end: (() => void) | undefined;
  try {
    end = begin();
    await Promise.race([pause(random.between(100, mostMs)), life.server.exited]);
  } catch (error) {
    if (!life.isOver && identify(life.server.pid)) throw error;
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
  { life, random, killed }: Target,
  what: string,
  find: (directory: string) => number[],
): Promise<void> {
  const isAll = random.chance(0.4);
  let pids = find(life.server.directory);
  for (const deadline = performance.now() + VICTIM_MS; pids.length === 0;) {
    if (life.isOver || performance.now() > deadline) return;
    await pause(100);
    pids = find(life.server.directory);
  }
  const chosen = isAll ? pids : [random.pick(pids)];
  for (const pid of chosen) if (strike(pid, 'SIGKILL')) killed(what);
}

/** The server replaces a keeper that was killed, and the new one gets the list of all groups. */
async function killKeeper({ life, killed, conditions }: Target): Promise<void> {
  const before = await keeperOf(life);
  if (!before || !strike(before.pid, 'SIGKILL')) return;
  killed('keeper');
  life.isClean = false;
  for (const deadline = performance.now() + scaled(NEW_KEEPER_MS); ; await pause(20)) {
    const now = await keeperOf(life);
    if (life.isOver) return;
    if (now && now.pid !== before.pid && isAlive(now)) break;
    if (performance.now() <= deadline) continue;
    // Under a condition that lasts, no process can start.
    if (conditions.since(performance.now()).length > 0) return;
    throw new Error('the server has not replaced its keeper');
  }
  life.isClean = true;
}

async function keeperOf(life: Life): Promise<Identity | undefined> {
  const pid = await life.meetKeeper().catch(() => null);
  return pid === null ? undefined : identify(pid);
}

async function stopAgents({ life, random }: Target): Promise<void> {
  const agents = agentsOf(life.server.directory);
  const stopped = agents.filter((pid) => random.chance(0.5) && strike(pid, 'SIGSTOP'));
  await Promise.race([pause(random.between(100, 1500)), life.server.exited]);
  // Some stay stopped, so that the server or its keeper has to end them.
  for (const pid of stopped) if (!life.isOver) strike(pid, 'SIGCONT');
}
